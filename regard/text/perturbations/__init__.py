"""Perturbations: small seeded changes of a text that is read. One file a row."""

from regard.errors import ConfigError, nearest
from regard.registry import Choice, Registry
from regard.text.perturbations.case import CasePerturbation
from regard.text.perturbations.drop import DropPerturbation
from regard.text.perturbations.keyboard import KeyboardPerturbation
from regard.text.perturbations.perturbation import Perturbation
from regard.text.perturbations.swap import SwapPerturbation
from regard.text.perturbations.synonym import SynonymPerturbation
from regard.text.perturbations.typo import TypoPerturbation

PERTURBATIONS: Registry[Perturbation] = Registry(
    "--perturb",
    {
        "case": CasePerturbation,
        "drop": DropPerturbation,
        "keyboard": KeyboardPerturbation,
        "swap": SwapPerturbation,
        "synonym": SynonymPerturbation,
        "typo": TypoPerturbation,
    },
)


def perturbation_of(spelled: str) -> Choice:
    """`typo:0.2` → the row and its share; the name alone: the usual share. Raises ConfigError for neither."""
    name, colon, share = spelled.partition(":")
    found = PERTURBATIONS.find(name)
    if found is None:
        raise ConfigError(PERTURBATIONS.place, f"there is no '{name}'", nearest(name, PERTURBATIONS))
    if not colon:
        return found
    try:
        return Choice(found.name, {**found.settings, "probability": float(share)})
    except ValueError:
        problem = f"the share of words in '{spelled}' is not a number"
        raise ConfigError(PERTURBATIONS.place, problem, f"{name}:0.1") from None
