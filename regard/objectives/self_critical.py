"""REINFORCE for translations, what the model would answer being the baseline (https://arxiv.org/abs/1612.00563)."""

import torch

from regard.config.common_settings import LabelSmoothing
from regard.decoding import GreedySearch
from regard.objectives.candidates import Ids, ids_of, need_writer, sampling, targets_of, with_targets, written
from regard.objectives.minimum_risk import LikelihoodWeight, Samples
from regard.objectives.objective import Context, Objective
from regard.objectives.reward import SENTENCE_BLEU, Reward, RewardMetric
from regard.records import Batch, Loss


class SelfCriticalObjective(Objective):
    """-(reward(ŷ) - reward(g)) · log p(ŷ | x) + likelihood · L, ŷ drawn, g the greedy answer; the mean over `samples`.

    The first factor has no gradient. A draw that is better than the answer becomes likelier, a worse one less likely.
    L is the label-smoothed loss of a piece of the given target. To train a model that translates already: start from
    a run. Raises ConfigError for models that write no targets.
    """

    aliases = "scst, self_critical_sequence_training, sequence_reinforce"
    writes = True

    def __init__(
        self,
        context: Context,
        *,
        reward: RewardMetric = SENTENCE_BLEU,
        samples: Samples = 5,
        likelihood: LikelihoodWeight = 0.1,
        label_smoothing: LabelSmoothing = 0.1,
    ) -> None:
        super().__init__(context)
        need_writer(context, "self_critical")
        self.reward, self.samples = Reward(context, reward), samples
        self.likelihood, self.label_smoothing = likelihood, label_smoothing

    def loss(self, batch: Batch, turn: str) -> Loss:
        """Sums over the sentences of a batch."""
        model, given = self.context.model, targets_of(batch)
        drawn = self.drawn(batch)
        log_probs = -model.nll(with_targets(batch, drawn)).sum(dim=-1)
        answers = [[ids_of(best)] for best, *_ in written(model, GreedySearch(), batch)]
        rewards, baseline = (self.reward(some, given).to(log_probs) for some in (drawn, answers))
        gained = rewards - baseline.repeat_interleave(torch.tensor([len(some) for some in drawn]).to(baseline.device))
        total = -(gained * log_probs).sum() / self.samples
        parts = {"reward": rewards.sum() / self.samples, "baseline": baseline.sum()}
        if self.likelihood:
            losses = model.nll(batch, smoothing=self.label_smoothing).sum(dim=-1)
            means = (losses / model.counted(batch).sum(dim=-1).clamp(min=1)).sum()
            total, parts = total + self.likelihood * means, {**parts, "likelihood": means.detach()}
        return Loss(total, len(batch.lines), parts)

    def drawn(self, batch: Batch) -> list[list[Ids]]:
        """Return so many targets of each sentence as the model writes them by chance."""
        found = written(self.context.model, sampling(self.samples), batch)
        return [[ids_of(one) for one in some] for some in found]
