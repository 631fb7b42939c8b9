"""The objective of networks with sub-batch normalisation (https://arxiv.org/abs/1610.10099v1, section 3.7)."""

from typing import Any

from torch import nn

from regard.layers.normalisation import main_rows
from regard.objectives.objective import Objective
from regard.records import Batch, Loss


class SubBatchObjective(Objective):
    """-sum log p(target | source) over the first half of a batch alone; the others lend it their statistics.

    An update learns from half of its tokens; which half of a batch it is, each epoch draws anew. The loss is
    label-smoothed as that of `likelihood`.
    """

    halves = True

    def __init__(self, model: nn.Module | None = None, *, label_smoothing: float = 0.1) -> None:
        super().__init__(model)
        self.label_smoothing = label_smoothing

    def rows(self, batch: Batch) -> int:
        """The main half."""
        return main_rows(len(batch.lines))

    def loss(self, model: Any, batch: Batch, turn: str) -> Loss:
        """Sum over what is counted of the main half."""
        rows = self.rows(batch)
        total = model.nll(batch, smoothing=self.label_smoothing)[:rows].sum()
        return Loss(total, int(model.counted(batch)[:rows].sum()), {"loss": total.detach()})
