"""The objective of networks with sub-batch normalisation (https://arxiv.org/abs/1610.10099v1, section 3.7)."""

from typing import Any

from torch import nn

from regard.layers.normalisation import main_rows
from regard.objectives.objective import Objective
from regard.records import PAD, Batch, Loss


class SubBatchObjective(Objective):
    """-sum log p(target | source) over the first half of a batch alone; the others lend it their statistics.

    An update learns from half of its tokens. The loss is label-smoothed as that of `likelihood`.
    """

    def __init__(self, model: nn.Module | None = None, *, label_smoothing: float = 0.1) -> None:
        super().__init__(model)
        self.label_smoothing = label_smoothing

    def loss(self, model: Any, batch: Batch, turn: str) -> Loss:
        """Sum over the target tokens of the main half."""
        rows = main_rows(len(batch.lines))
        total = model.nll(batch, smoothing=self.label_smoothing)[:rows].sum()
        count = int((batch.sequences("target").items[:rows] != PAD).sum())
        return Loss(total, count, {"loss": total.detach()})
