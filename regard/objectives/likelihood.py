"""Maximum likelihood: the training of nearly every translator."""

import torch

from regard.config.common_settings import LabelSmoothing
from regard.objectives.objective import Context, Objective
from regard.records import Batch, Loss


class LikelihoodObjective(Objective):
    """-sum log p(target | source), label-smoothed (https://arxiv.org/abs/1512.00567, section 7)."""

    def __init__(self, context: Context, *, label_smoothing: LabelSmoothing = 0.1) -> None:
        super().__init__(context)
        self.label_smoothing = label_smoothing

    def loss(self, batch: Batch, turn: str) -> Loss:
        """Sum over the target tokens of a batch; `parts` has each loss of a model that has several."""
        losses = self.context.model.training_losses(batch, smoothing=self.label_smoothing)
        total = torch.stack([*losses.values()]).sum()
        return Loss(total, batch.count, {name: one.detach() for name, one in losses.items()})
