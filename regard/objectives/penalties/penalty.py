"""The contract of penalties: what a model should not look like when it looks."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor, nn

from regard.attention import Attended
from regard.config import OneOrMany
from regard.errors import ConfigError
from regard.objectives.looking import Records, joined
from regard.records import Batch

SOURCE = ("decoders.*.attention", "decoders.*.cross")  # what decoders look at the source with

Weight = Annotated[float, Ge(0)]
Attentions = Annotated[tuple[str, ...], OneOrMany()]


class Penalty(nn.Module, ABC):
    """Built with its settings alone: `weight`, which a schedule may drive, and `attentions`, patterns of their names.

    In a pattern * stands for anything; a name is the path of a module, as `recording` tells it.
    """

    def __init__(self, weight: float, attentions: Sequence[str]) -> None:
        super().__init__()
        if not attentions:
            raise ConfigError("penalties.attentions", "is empty", "leave it out, or name one, as decoders.*.cross")
        self.weight, self.attentions = weight, tuple(attentions)

    @abstractmethod
    def of_one(self, name: str, weights: Tensor, batch: Batch) -> Tensor:
        """weights (rows, head, query, key) of an attention → what is wrong with them, in any shape, to be added up.

        The rows may be several copies of the batch, one after another.
        """

    def forward(self, records: Records, batch: Batch) -> Tensor:
        """What each attention answered → a sum over the batch and the attentions meant, not weighted yet.

        Of several copies of the batch it is the mean. Raises ConfigError where no attention is meant.
        """
        found = torch.zeros(())
        for name in self._meant(records):
            if records[name]:  # else it is of another route
                weights = joined([_weights(answer) for answer in records[name]], dim=-2)
                weights = weights if weights.dim() == 4 else weights.unsqueeze(1)
                copies = max(1, len(weights)) / max(1, len(batch.lines))
                found = found + self.of_one(name, weights, batch).sum() / copies
        return found

    def _meant(self, records: Records) -> list[str]:
        meant = [name for name in records if any(fnmatchcase(name, pattern) for pattern in self.attentions)]
        if not meant:
            hint = "there is: " + ", ".join(records) if records else "the model has none"
            raise ConfigError("penalties.attentions", f"no attention is called {' or '.join(self.attentions)}", hint)
        return meant


def _weights(answer: Attended) -> Tensor:
    if answer.weights is None:
        raise ValueError("a penalty needs the weights of every attention, as `recording` asks for them")
    return answer.weights.to(torch.promote_types(answer.weights.dtype, torch.float32))
