"""Ensembles: several models that generate one text together."""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from regard.models.model import Generator
from regard.records import Batch, Decoded, Encoded, State, Step

_Mean = Literal["log_probabilities", "probabilities"]


class _Together(NamedTuple):
    """The states of all members."""

    states: tuple[Any, ...]

    def select(self, rows: Tensor) -> "_Together":
        """Rows of each."""
        return _Together(tuple(state.select(rows) for state in self.states))


class Ensemble(Generator):
    """log p = mean of log p_i, or log of the mean of p_i, over members of one vocabulary.

    The mean of log-probabilities favours agreement of all members; it is not a distribution, but ranks like one.
    Attention weights are those of the first member.
    """

    def __init__(self, members: Sequence[Generator], mean: _Mean = "log_probabilities") -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.logarithmic = mean == "log_probabilities"

    @property
    def _generators(self) -> list[Generator]:
        return [*self.members]

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        losses = torch.stack([member.nll(batch, smoothing=smoothing) for member in self._generators])
        return -self._mean(-losses)

    def counted(self, batch: Batch) -> Tensor:
        return self._generators[0].counted(batch)

    @property
    def max_source(self) -> int | None:
        return _least(member.max_source for member in self._generators)

    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, Encoded | None]:
        """Return states and weights of the first member."""
        return self._generators[0].decode(batch, need_weights=need_weights)

    def longest(self, batch: Batch) -> int | None:
        return _least(member.longest(batch) for member in self._generators)

    def start(self, batch: Batch) -> _Together:
        return _Together(tuple(member.start(batch) for member in self._generators))

    def step(self, ids: Tensor, state: _Together, *, need_weights: bool = False) -> tuple[Step, State]:
        """Average log-probabilities over the members, and weights where all members have them, for ids (rows, 1)."""
        pairs = zip(self._generators, state.states, strict=True)
        steps, after = zip(*(one.step(ids, each, need_weights=need_weights) for one, each in pairs), strict=True)
        weights = [step.weights for step in steps if step.weights is not None]
        looks = torch.stack(weights).mean(dim=0) if len(weights) == len(steps) else None
        return Step(self._mean(torch.stack([step.log_probs for step in steps])), looks), _Together(after)

    def _mean(self, log_probs: Tensor) -> Tensor:
        """(members, ...) → (...)."""
        if self.logarithmic:
            return log_probs.mean(dim=0)
        return log_probs.logsumexp(dim=0) - math.log(len(log_probs))


def _least(limits: Any) -> int | None:
    """Return the smallest limit; None means no limit."""
    return min((one for one in limits if one is not None), default=None)
