"""The contract of objectives: what is minimised."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn

from regard.ops.modules import module_dict
from regard.records import Batch, Loss


class Objective(nn.Module, ABC):
    """Owns what only training needs (a critic, a baseline, a teacher): its parameters and buffers are checkpointed.

    `turns` name parameter groups, one optimizer each, taken in order at every update: ("critic", "model") for a GAN.
    """

    turns: tuple[str, ...] = ("model",)
    rewards = ""  # the setting above whose 0 it learns from draws, by their `log_prob`; "": it never does
    records = False  # True: reads what attention saw by `recording`, which compiled code does not tell
    halves = False  # True: learns from the first half of a batch's rows alone, so each epoch must draw anew which it is

    def __init__(self, model: nn.Module | None = None) -> None:
        """`model` is to take sizes or copies from, never to keep: it would be saved and moved twice."""
        super().__init__()
        self.penalties: Mapping[str, nn.Module] = module_dict({})  # by name, where it has any

    @property
    def itself(self) -> "Objective":
        """The row of the table, whatever was put around it."""
        return self

    def parameters_of(self, model: nn.Module, turn: str) -> Iterable[nn.Parameter]:
        """What the optimizer of a turn moves."""
        return model.parameters()

    def rows(self, batch: Batch) -> int:
        """How many rows of a batch, the first ones, are learnt from."""
        return len(batch.lines)

    @abstractmethod
    def loss(self, model: Any, batch: Batch, turn: str) -> Loss:
        """Sums over the batch, never means."""
