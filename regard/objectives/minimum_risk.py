"""Minimum risk training: probability goes to what a metric likes (https://aclanthology.org/P16-1159)."""

from typing import Annotated

from torch import Tensor

from regard.config import Doc
from regard.config.bounds import NotNegative, Positive, Size
from regard.config.common_settings import LabelSmoothing
from regard.objectives.candidates import Candidates, Ids, candidates, ids_of, need_writer, sampling, written
from regard.objectives.objective import Context, Objective
from regard.objectives.reward import SENTENCE_BLEU, MoreRewards, RewardMetric, TotalReward
from regard.records import Batch, Loss

Samples = Annotated[Size, Doc("Targets drawn for every sentence.")]
LikelihoodWeight = Annotated[NotNegative, Doc("Weight of the loss of the given target, the mean over its pieces.")]


class MinimumRiskObjective(Objective):
    """Σ_S Q(y) (1 - reward(y)) + likelihood · L, Q(y) = p(y | x)^sharpness / Σ_S p(y' | x)^sharpness.

    S has the given target and `samples` drawn ones, each once; L is the label-smoothed loss of a piece. Draws are of
    the model without dropout, anew at each update. To train a model that translates already: start from a run.
    Raises ConfigError for models that write no targets.
    """

    aliases = "mrt, expected_risk, minimum_bayes_risk_training"
    writes = True

    def __init__(
        self,
        context: Context,
        *,
        reward: RewardMetric = SENTENCE_BLEU,
        rewards: MoreRewards = (),
        samples: Samples = 10,
        sharpness: Annotated[
            Positive, Doc("Exponent of the probabilities: below 1 unlikely candidates count for more.")
        ] = 0.05,
        likelihood: LikelihoodWeight = 0.1,
        label_smoothing: LabelSmoothing = 0.1,
    ) -> None:
        super().__init__(context)
        need_writer(context, "minimum_risk")
        self.reward, self.samples, self.sharpness = TotalReward(context, reward, rewards), samples, sharpness
        self.likelihood, self.label_smoothing = likelihood, label_smoothing

    def loss(self, batch: Batch, turn: str) -> Loss:
        """Sums over the sentences of a batch."""
        model = self.context.model
        found = candidates(batch, self.drawn(batch))
        log_probs = found.table(-model.nll(found.batch).sum(dim=-1), float("-inf"))
        rewards = self.rewards(found, batch).to(log_probs)
        shares = (self.sharpness * log_probs).softmax(dim=-1)
        risk = (shares * (1 - rewards)).sum()
        total, parts = risk, {"risk": risk.detach(), "reward": _of_draws(rewards, found).detach()}
        if self.likelihood:
            given = self.mean_losses(batch).sum()
            total, parts = total + self.likelihood * given, {**parts, "likelihood": given.detach()}
        return Loss(total, len(batch.lines), parts)

    def drawn(self, batch: Batch) -> list[list[Ids]]:
        """Return so many targets of each sentence as the model writes them by chance."""
        search = sampling(self.samples)
        return [[ids_of(one) for one in some] for some in written(self.context.model, search, batch)]

    def rewards(self, found: Candidates, batch: Batch) -> Tensor:
        """(sentence, candidate)."""
        return found.table(self.reward(found.targets, batch).to(found.mask.device), 0.0)

    def mean_losses(self, batch: Batch) -> Tensor:
        """(sentence,): the loss of a piece of the given target."""
        model = self.context.model
        losses = model.nll(batch, smoothing=self.label_smoothing).sum(dim=-1)
        return losses / model.counted(batch).sum(dim=-1).clamp(min=1)


def _of_draws(rewards: Tensor, found: Candidates) -> Tensor:
    """The sum over sentences of the mean reward of what was drawn, the given target left out."""
    drawn = found.mask[:, 1:]
    return ((rewards[:, 1:] * drawn).sum(dim=-1) / drawn.sum(dim=-1).clamp(min=1)).sum()
