"""The contract of penalties: a cost on attention weights, added to the loss."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import Records, Role
from regard.config import Doc, OneOrMany
from regard.config.bounds import NotNegative
from regard.errors import ConfigError, PartError
from regard.models import Model
from regard.objectives.objective import Context
from regard.ops.functional import wide
from regard.records import Batch

PENALTIES_PLACE = "penalties"  # in a config
Weight = Annotated[NotNegative, Doc("Weight of the penalty in the loss.")]
Attentions = Annotated[
    Annotated[tuple[str, ...], OneOrMany()] | None,
    Doc("Module names it applies to, such as decoders.*.cross; null: all cross-attentions."),
]
TrainedHead = tuple[int, int, bool]  # which of a route's attentions to the source, its head, whether a step ahead


class Penalty(nn.Module, ABC):
    """Built with its settings alone: `weight`, which a schedule may change, and `attentions`, patterns of module paths.

    In a pattern * stands for anything. None chooses by role: see `concerns`.
    """

    def __init__(self, weight: float, attentions: Sequence[str] | None) -> None:
        super().__init__()
        if attentions is not None and not attentions:
            raise PartError("is empty", "leave it out, or name one, as decoders.*.cross", setting="attentions")
        self.weight, self.attentions = weight, attentions

    def refused(self, setting: str, problem: str, hint: str) -> ConfigError:
        """Return the fault of one of its settings, which shows when it meets a model."""
        return PartError(problem, hint, setting=setting).inside(PENALTIES_PLACE)

    def fitted(self, of_source: Tensor, places: int, name: str) -> Tensor:
        """Return (..., source) with zeros behind it for the places that an encoder unfolds: (..., places).

        Raises ConfigError where the attention called `name` attends to fewer places than the source has words.
        """
        words = of_source.shape[-1]
        if places < words:
            problem = f"'{name}' attends to {places} places, and the source has {words} words"
            raise self.refused("", problem, "it needs an encoder that keeps a place a word")
        return functional.pad(of_source, (0, places - words))

    def bind(self, context: Context) -> None:
        """Take what it needs beside its settings, before the first batch."""

    def trained_head(self, model: Model, route: str) -> TrainedHead | None:
        """Return the head of a route of a model that it teaches to link words, if any."""
        return None

    def concerns(self, role: Role) -> bool:
        """Return whether it applies to an attention of this role where no pattern names any."""
        return role.crosses

    def applies(self, name: str, role: Role) -> bool:
        """Return whether it may count an attention of this name and role."""
        if self.attentions is None:
            return self.concerns(role)
        return any(fnmatchcase(name, pattern) for pattern in self.attentions)

    @abstractmethod
    def of_one(self, name: str, role: Role, weights: Tensor, batch: Batch) -> Tensor:
        """weights (rows, head, query, key) of an attention → its costs, in any shape, to be added up.

        The rows may be several copies of the batch, one after another.
        """

    def forward(self, records: Records, batch: Batch) -> Tensor:
        """Return the sum of costs over the batch and the chosen attentions, not weighted yet.

        Of several copies of the batch it is the mean. Raises ConfigError where no attention is chosen.
        """
        found = torch.zeros(())
        for name, (role, answers) in self.chosen(records).items():
            steps = [one.weights.to(wide(one.weights.dtype)) for one in answers if one.weights is not None]
            if steps:  # else it is of another route
                weights = torch.cat(steps, dim=-2)
                weights = weights if weights.dim() == 4 else weights.unsqueeze(1)
                copies = max(1, len(weights)) / max(1, len(batch.lines))
                found = found + self.of_one(name, role, weights, batch).sum() / copies
        return found

    def chosen(self, records: Records) -> Records:
        """Return the attentions that it counts. Raises ConfigError where there is none."""
        found = {name: seen for name, seen in records.items() if self.applies(name, seen.role)}
        if not found:
            problem = f"no attention is called {' or '.join(self.attentions or ())}"
            problem = "no attention reads a source" if self.attentions is None else problem
            hint = "there is: " + ", ".join(records) if records else "the model has none"
            raise self.refused("attentions", problem, hint)
        return found
