"""Reward of a written target beside the given one, by a metric of single sentences."""

from collections.abc import Sequence
from typing import Annotated, cast

import torch
from torch import Tensor

from regard.config import Doc, OneOrMany, PartOf
from regard.data.columns import TextColumn
from regard.errors import PartError
from regard.evaluation import METRICS, Metric
from regard.evaluation.metric import corpus_of
from regard.objectives.candidates import TargetIds, target_text, targets_of
from regard.objectives.objective import Context
from regard.objectives.rewards import REWARDS
from regard.records import TARGET, Batch
from regard.registry import Choice

RewardMetric = Annotated[Choice, PartOf(METRICS), Doc("Sentence-level metric used as the reward.")]
MoreRewards = Annotated[
    tuple[Annotated[Choice, PartOf(REWARDS)], ...], OneOrMany(), Doc("Rewards added to the metric.")
]
SENTENCE_BLEU = Choice("sentence_bleu")


class TotalReward:
    """metric / 100 of each sentence by itself, minus that where less of it is better; and what more rewards add."""

    def __init__(self, context: Context, choice: Choice, more: Sequence[Choice] = ()) -> None:
        metric = METRICS.build(choice, place="reward")
        if not metric.rewards_texts:
            raise PartError(f"'{choice.name}' does not score single texts", "sentence_bleu", setting="reward")
        self.metric: Metric = metric
        self.scale = 0.01 if metric.higher_is_better else -0.01
        self.task = context.task
        self.more = [REWARDS.build(one, context, place="rewards") for one in more]

    def __call__(self, targets: Sequence[Sequence[TargetIds]], batch: Batch) -> Tensor:
        """Several targets of each row of a batch → rewards (all of them,), row by row."""
        known, given = dict[TargetIds, str](), targets_of(batch)
        column = cast(TextColumn, self.task.along(batch.route).vocabularies[TARGET])
        references = [_text(column, one, known) for one, some in zip(given, targets, strict=True) for _ in some]
        texts = [_text(column, one, known) for some in targets for one in some]
        statistics = self.metric.statistics(corpus_of(texts, references))
        found = self.scale * torch.tensor([self.metric.value(row) for row in statistics])
        return sum((one(targets, batch) for one in self.more), start=found)


def _text(column: TextColumn, ids: TargetIds, known: dict[TargetIds, str]) -> str:
    if ids not in known:
        known[ids] = target_text(column, ids)
    return known[ids]
