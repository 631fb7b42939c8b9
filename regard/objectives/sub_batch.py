"""The objective of networks with sub-batch normalisation (https://arxiv.org/abs/1610.10099v1, section 3.7)."""

import torch

from regard.config.common_settings import LabelSmoothing
from regard.errors import ConfigError
from regard.layers.normalisation.norm import Norm
from regard.layers.normalisation.sub_batch import main_rows
from regard.objectives.objective import OBJECTIVE_PLACE, Context, Objective
from regard.records import Batch, Loss

MAX_LONE_BATCHES = 20  # batches of a single text, before any of several, that a training may begin with


class SubBatchObjective(Objective):
    """-sum log p(target | source) over the first half of a batch alone; the others lend it their statistics.

    In training the rows are first put in a random order, since those of a stream are sorted by length and meet again in
    each epoch. It is sampled as dropout is, so a resumed run samples the same. The loss is label-smoothed as that of
    `likelihood`. Raises ConfigError where every text is alone in its batch.
    """

    def __init__(self, context: Context, *, label_smoothing: LabelSmoothing = 0.1) -> None:
        super().__init__(context)
        self.label_smoothing, self.alone = label_smoothing, 0

    def halves(self, batch: Batch) -> list[Batch]:
        """Return the batch alone: its rows lend statistics to each other."""
        return [batch]

    def loss(self, batch: Batch, turn: str) -> Loss:
        model, rows = self.context.model, len(batch.lines)
        if self.training:
            self._need_two(rows)
            batch = batch.select(torch.randperm(rows))
        main = main_rows(rows)
        total = model.nll(batch, smoothing=self.label_smoothing)[:main].sum()
        count = int(model.counted(batch)[:main].sum())
        return Loss(total, count, {"loss": total.detach()}, batch.select(torch.arange(main)))

    def _need_two(self, rows: int) -> None:
        self.alone = -1 if rows > 1 or self.alone < 0 else self.alone + 1
        if self.alone == MAX_LONE_BATCHES:
            problem = "every text is alone in its batch, and the objective learns from half of a batch"
            raise ConfigError("training.batch_tokens", problem, "twice the length of a text at least")


def check_norms(name: str, objective: Objective) -> None:
    """Raise ConfigError where the model's norms need half of a batch and the objective learns from all, or neither.

    With any other objective the half that lends its statistics would be learnt from, and see its own future.
    """
    norms = [part for part in objective.context.model.modules() if isinstance(part, Norm) and part.by_others]
    learns = isinstance(objective, SubBatchObjective)
    if norms and not learns:
        problem = f"'sub_batch' normalises half of a batch by the other, and objective '{name}' learns from both"
        raise ConfigError("model", problem, "objective=sub_batch, or another norm")
    if learns and not norms:
        problem = f"'{name}' learns from half of each batch, and no norm of the model needs the other half"
        raise ConfigError(OBJECTIVE_PLACE, problem, "objective=likelihood, or a model whose norm is sub_batch")
