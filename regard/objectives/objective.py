"""The contract of objectives: what is minimised."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import Attention
from regard.config import note
from regard.decoding.search import Search
from regard.errors import ConfigError, PartError
from regard.models import Model
from regard.ops.modules import module_dict
from regard.records import Batch, Loss
from regard.registry import Choice

OBJECTIVE_PLACE = "objective"  # in a config
MAIN = "model"  # the turn that trains the model: its loss is the loss of the log

PairLinks = Callable[[Batch], Tensor]  # → (batch, target, source): True where pieces of both sides are linked

NEVER_LEARNS = (
    "never learns: its weighting only samples, and the objective rewards no sample (objective=reinforce with "
    "a reward above 0, or a soft_probability above 0)"
)

LabelProbabilities = Callable[[Sequence[str]], list[Mapping[str, float]]]  # texts → the probability of each label


class Context(NamedTuple):
    """All that an objective may use. A tuple, so that `model` is saved and moved by itself."""

    model: Model
    task: Any = None  # a row of TASKS, which stand above this floor
    search: Search | None = None
    compiled: bool = False  # True: `recording` would see nothing of the model
    load: Callable[[Path], Model] | None = None  # run → its model, which has the same vocabularies
    links: Callable[[Choice], PairLinks] | None = None  # row of ALIGNERS → its links of the training pairs
    open_classifier: Callable[[Path], LabelProbabilities] | None = None  # run of a classifier → what it says of texts

    def need_uncompiled(self, problem: str) -> None:
        """Raise ConfigError for compiled code, which has a problem."""
        if self.compiled:
            raise ConfigError("training.compile", problem, "use false")

    def need_records(self, what: str) -> None:
        """Raise ConfigError where `what` could not read what attention saw."""
        self.need_uncompiled(f"compiled code does not record for {what} what attention read")

    def teacher(self, run: Path) -> Model:
        """Return the model of another run, which learns nothing. Raises RegardError where it does not fit."""
        if self.load is None:
            raise PartError("needs runs, and none can be opened here", "Context(…, load=…)", setting="teacher")
        return self.load(run).eval().requires_grad_(False)

    def classifier(self, run: Path) -> LabelProbabilities:
        """Return what a classifier says of texts. Raises RegardError for a run that is none."""
        if self.open_classifier is None:
            raise PartError("need runs, and none can be opened here", "give the Context a way to open runs")
        return self.open_classifier(run)


class Objective(nn.Module, ABC):
    """Owns what only training needs (a critic, a baseline, a teacher): its parameters and buffers are checkpointed.

    Built with (context). `turns` name parameter groups, one optimizer each, taken in order at every update:
    ("critic", "model") for a GAN.
    """

    turns: tuple[str, ...] = (MAIN,)
    writes = False  # True: it reads targets that a model writes, so what attention saw is not of the batch alone

    def __init__(self, context: Context, *, rewards_samples: bool = False) -> None:
        """`rewards_samples`: attention that only samples learns by their `log_prob`; otherwise it learns nothing."""
        super().__init__()
        self.context = context
        self.penalties: Mapping[str, nn.Module] = module_dict({})  # by name, where it has any
        for attention in () if rewards_samples else context.model.modules():
            if isinstance(attention, Attention) and attention.weighting.only_samples:
                note(attention.place, NEVER_LEARNS, absolute=True)

    @property
    def itself(self) -> "Objective":
        """The row of the table, without what was put around it."""
        return self

    def parameters_of(self, turn: str) -> Iterable[nn.Parameter]:
        """Return what the optimizer of a turn updates."""
        return self.context.model.parameters()

    def halves(self, batch: Batch) -> list[Batch]:
        """Return batches whose losses and counts add up to those of `batch`: itself where it cannot be divided."""
        rows = torch.arange(len(batch.lines))
        if len(rows) < 2:
            return [batch]
        counts = self.context.model.counted(batch).sum(dim=-1)
        return [batch.select(half)._replace(count=int(counts[half].sum())) for half in rows.chunk(2)]

    @abstractmethod
    def loss(self, batch: Batch, turn: str) -> Loss:
        """Return sums over the batch, never means."""


def copied(batch: Batch, copies: int) -> Batch:
    """Return every row `copies` times, one whole batch after another."""
    if copies == 1:
        return batch
    rows = torch.arange(len(batch.lines), device=batch.lines.device).repeat(copies)
    return batch.select(rows)._replace(count=copies * batch.count)
