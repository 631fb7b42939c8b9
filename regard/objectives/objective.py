"""The contract of objectives: what is minimised."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from torch import nn

from regard.decoding.search import Search
from regard.models import Model
from regard.ops.modules import module_dict
from regard.records import Batch, Loss

MAIN = "model"  # the turn that trains the model: its loss is the loss of the log


class Context(NamedTuple):
    """What an objective may use. A tuple, so that `model` is no submodule of it: it is saved and moved by itself."""

    model: Model
    task: Any = None  # a row of TASKS, which stand above this floor
    search: Search | None = None


class Objective(nn.Module, ABC):
    """Owns what only training needs (a critic, a baseline, a teacher): its parameters and buffers are checkpointed.

    Built with (context). `turns` name parameter groups, one optimizer each, taken in order at every update:
    ("critic", "model") for a GAN.
    """

    turns: tuple[str, ...] = (MAIN,)
    rewards = ""  # setting that weighs the reward of draws; at 0, and without one, their `log_prob` teaches nothing
    records = False  # True: uses `recording`, which sees nothing in compiled code

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.penalties: Mapping[str, nn.Module] = module_dict({})  # by name, where it has any

    @property
    def itself(self) -> "Objective":
        """The row of the table, without what was put around it."""
        return self

    def parameters_of(self, turn: str) -> Iterable[nn.Parameter]:
        """Return what the optimizer of a turn updates."""
        return self.context.model.parameters()

    @abstractmethod
    def loss(self, batch: Batch, turn: str) -> Loss:
        """Return sums over the batch, never means."""
