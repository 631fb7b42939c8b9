"""Minimum risk training: probability goes to what a metric likes (https://aclanthology.org/P16-1159)."""

from torch import Tensor

from regard.config.common_settings import LabelSmoothing
from regard.objectives.candidates import Candidates, LikelihoodWeight, SampledObjective, Samples, Sharpness
from regard.objectives.objective import Context
from regard.objectives.self_critical import SENTENCE_BLEU, MoreRewards, RewardMetric, TotalReward
from regard.records import Batch, Loss


class MinimumRiskObjective(SampledObjective):
    """Σ_S Q(y) (1 - reward(y)) + likelihood · L, Q(y) = p(y | x)^sharpness / Σ_S p(y' | x)^sharpness.

    S has the given target and `samples` others, each once; L is the label-smoothed loss of a piece. Samples are of
    the model without dropout, again at each update. To train a model that translates already: start from a run.
    Raises ConfigError for models that write no targets.
    """

    name = "minimum_risk"
    aliases = "mrt, expected_risk, minimum_bayes_risk_training"

    def __init__(
        self,
        context: Context,
        *,
        reward: RewardMetric = SENTENCE_BLEU,
        rewards: MoreRewards = (),
        samples: Samples = 10,
        sharpness: Sharpness = 0.05,
        likelihood: LikelihoodWeight = 0.1,
        label_smoothing: LabelSmoothing = 0.1,
    ) -> None:
        super().__init__(context, samples, likelihood, label_smoothing)
        self.reward, self.sharpness = TotalReward(context, reward, rewards), sharpness

    def loss(self, batch: Batch, turn: str) -> Loss:
        found, log_probs = self.scored(batch)
        rewards = self.rewards(found, batch).to(log_probs)
        shares = (self.sharpness * log_probs).softmax(dim=-1)
        risk = (shares * (1 - rewards)).sum()
        drawn = found.mask[:, 1:]  # the given target is left out
        gained = ((rewards[:, 1:] * drawn).sum(dim=-1) / drawn.sum(dim=-1).clamp(min=1)).sum()
        return self.with_given(risk, {"risk": risk.detach(), "reward": gained.detach()}, batch)

    def rewards(self, found: Candidates, batch: Batch) -> Tensor:
        """(sentence, candidate)."""
        return found.table(self.reward(found.targets, batch).to(found.mask.device), 0.0)
