"""A rotation from pairs that are known: words spelt alike in both languages, or a dictionary."""

from collections.abc import Iterable
from typing import Annotated

import torch

from regard.config import Doc
from regard.config.bounds import Count
from regard.errors import PartError
from regard.statistical.dictionaries.method import FREQUENT, DictionaryMethod, Space, SpaceMaps, refined, rotation
from regard.statistical.dictionaries.spaces import PairRows, procrustes

Rounds = Annotated[Count, Doc("Maximum refinement rounds: mutual nearest neighbours by CSLS, then Procrustes.")]
_LEAST = 2  # pairs that fix more than one direction


class IdenticalWords(DictionaryMethod):
    """Start from words spelt alike in both languages (names, numerals, loan words), then refine.

    https://aclanthology.org/P18-1072, section 4: as good as an adversary, and sound where that fails.
    """

    def __init__(self, *, rounds: Rounds = 10) -> None:
        self.rounds = rounds

    def fit(self, source: Space, target: Space, generator: torch.Generator) -> SpaceMaps:
        return fit_pairs(source, target, ((word, word) for word in source.words), self.rounds)


def fit_pairs(source: Space, target: Space, pairs: Iterable[tuple[str, str]], rounds: int) -> SpaceMaps:
    """Return the refined rotation that a dictionary starts. Raises PartError where too few pairs have vectors."""
    known = rows_of_pairs(source, target, pairs)
    if len(known.source) < _LEAST:
        found = "one pair" if len(known.source) else "no pair"
        raise PartError(
            f"{found} of the seed dictionary has vectors in both languages",
            "give another dictionary, or the method 'similarity', which needs none",
        )
    start = procrustes(source.vectors[known.source], target.vectors[known.target])
    return rotation(refined(source.head(FREQUENT), target.head(FREQUENT), start, rounds))


def rows_of_pairs(source: Space, target: Space, pairs: Iterable[tuple[str, str]]) -> PairRows:
    """Return the rows of the pairs of words whose vectors both spaces have."""
    of_source, of_target = ({word: row for row, word in enumerate(one.words)} for one in (source, target))
    found = [(of_source[one], of_target[other]) for one, other in pairs if one in of_source and other in of_target]
    rows = torch.tensor(found, dtype=torch.long).reshape(-1, 2)
    return PairRows(rows[:, 0], rows[:, 1])
