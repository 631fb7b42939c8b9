"""REINFORCE for translations, other answers of the model being the baseline (https://arxiv.org/abs/1612.00563)."""

from typing import Annotated, Literal

from torch import Tensor

from regard.config import Doc
from regard.config.common_settings import LabelSmoothing
from regard.decoding import GreedySearch
from regard.errors import PartError
from regard.objectives.candidates import LikelihoodWeight, SampledObjective, Samples, ids_of, search_with, with_targets
from regard.objectives.objective import Context
from regard.objectives.reward import SENTENCE_BLEU, MoreRewards, RewardMetric, TotalReward
from regard.records import Batch, Loss


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
