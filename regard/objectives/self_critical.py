"""REINFORCE for translations, other answers of the model being the baseline (https://arxiv.org/abs/1612.00563)."""

from collections.abc import Sequence
from typing import Annotated, Literal, cast

import torch
from torch import Tensor

from regard.config import Doc, OneOrMany, PartOf
from regard.config.common_settings import LabelSmoothing
from regard.data.columns import TextColumn
from regard.decoding import GreedySearch
from regard.errors import PartError
from regard.evaluation import METRICS, Metric
from regard.evaluation.metric import corpus_of
from regard.objectives.candidates import (
    LikelihoodWeight,
    SampledObjective,
    Samples,
    TargetIds,
    ids_of,
    search_with,
    target_text,
    targets_of,
    with_targets,
)
from regard.objectives.objective import Context
from regard.objectives.rewards import REWARDS
from regard.records import TARGET, Batch, Loss
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


class SelfCriticalObjective(SampledObjective):
    """-(reward(ŷ) - b) · log p(ŷ | x) / |y| + likelihood · L, ŷ sampled; the mean over `samples`.

    b is the reward of the model's own answer: of greedy search, or the mean of the other samples, which varies less
    where samples are much worse than the answer (https://arxiv.org/abs/2003.09971). The first factor has no gradient: a
    sample that is better than b becomes likelier, a worse one less likely. |y| is the length of the given target, L its
    label-smoothed loss of a piece. To train a model that translates already: start from a run. Raises ConfigError for
    models that write no targets.
    """

    name = "self_critical"
    aliases = "scst, self_critical_sequence_training, sequence_reinforce"

    def __init__(
        self,
        context: Context,
        *,
        reward: RewardMetric = SENTENCE_BLEU,
        rewards: MoreRewards = (),
        baseline: Annotated[
            Literal["others", "greedy"], Doc("Baseline of a sample: the other samples, or the greedy output.")
        ] = "others",
        samples: Samples = 5,
        likelihood: LikelihoodWeight = 0.1,
        label_smoothing: LabelSmoothing = 0.1,
    ) -> None:
        super().__init__(context, samples, likelihood, label_smoothing)
        if baseline == "others" and samples == 1:
            raise PartError("one sample has no others", "2 at least, or baseline: greedy", setting="samples")
        self.reward = TotalReward(context, reward, rewards)
        self.greedy = baseline == "greedy"

    def loss(self, batch: Batch, turn: str) -> Loss:
        model, drawn = self.context.model, self.sampled(batch)
        log_probs = -model.nll(with_targets(batch, drawn)).sum(dim=-1).view(len(drawn), -1)
        rewards = self.reward(drawn, batch).to(log_probs).view_as(log_probs)
        baseline = self._baseline(rewards, batch)
        sizes = model.counted(batch).sum(dim=-1).clamp(min=1)
        gained = ((rewards - baseline) * log_probs).mean(dim=-1) / sizes
        parts = {"reward": rewards.mean(dim=-1).sum(), "baseline": baseline.mean(dim=-1).sum()}
        return self.with_given(-gained.sum(), parts, batch)

    def _baseline(self, rewards: Tensor, batch: Batch) -> Tensor:
        """Rewards (sentence, sample) → baselines, (sentence, sample) or (sentence, 1)."""
        if not self.greedy:
            return (rewards.sum(dim=-1, keepdim=True) - rewards) / (rewards.shape[1] - 1)
        answers = [[ids_of(best)] for best, *_ in search_with(self.context.model, GreedySearch(), batch)]
        return self.reward(answers, batch).to(rewards).unsqueeze(-1)
