"""Prior knowledge of good translations as a loss (https://aclanthology.org/P17-1139, arXiv:1811.01100)."""

from collections.abc import Iterable
from itertools import chain
from typing import Annotated, cast

import torch
from torch import Tensor, nn

from regard.config import Doc, OneOrMany, PartOf
from regard.config.bounds import NotNegative
from regard.config.common_settings import LabelSmoothing
from regard.data.columns import TextColumn
from regard.objectives.candidates import Candidates, LikelihoodWeight, SampledObjective, Samples, Sharpness, target_text
from regard.objectives.objective import Context
from regard.objectives.posterior_features import POSTERIOR_FEATURES
from regard.records import SOURCE, TARGET, Batch, Loss
from regard.registry import Choice


class PosteriorRegularisationObjective(SampledObjective):
    """likelihood · L + weight · KL(Q ‖ P) over S: P(y) ∝ p(y | x)^sharpness, Q(y) ∝ exp(Σ_k γ_k φ_k(x, y)).

    S has the given target and `samples` sampled ones, each once; φ are features of whole translations, whose weights γ
    are learnt with the model; L is the label-smoothed loss of a piece. To train a model that translates already: start
    from a run. Raises ConfigError for models that write no targets.
    """

    name = "posterior_regularisation"
    aliases = "pr, posterior_regularization, 后验正则化"

    def __init__(
        self,
        context: Context,
        *,
        features: Annotated[
            tuple[Annotated[Choice, PartOf(POSTERIOR_FEATURES)], ...],
            OneOrMany(),
            Doc("Features of a good translation."),
        ] = (Choice("length_ratio"),),
        weight: Annotated[NotNegative, Doc("Weight of the KL divergence, per sentence.")] = 0.3,
        samples: Samples = 10,
        sharpness: Sharpness = 0.05,
        likelihood: LikelihoodWeight = 1.0,
        label_smoothing: LabelSmoothing = 0.1,
    ) -> None:
        super().__init__(context, samples, likelihood, label_smoothing)
        self.features = {one.name: POSTERIOR_FEATURES.build(one, place="features") for one in features}
        self.strengths = nn.Parameter(torch.tensor([one.weight for one in self.features.values()]))
        self.weight, self.sharpness = weight, sharpness

    def parameters_of(self, turn: str) -> Iterable[nn.Parameter]:
        return chain(self.context.model.parameters(), [self.strengths])

    def loss(self, batch: Batch, turn: str) -> Loss:
        found, log_probs = self.scored(batch)
        values = self.values(found, batch).to(log_probs)
        wanted = (values @ self.strengths.to(values)).masked_fill(~found.mask, float("-inf")).log_softmax(dim=-1)
        held = (self.sharpness * log_probs).log_softmax(dim=-1)
        apart = (wanted - held).masked_fill(~found.mask, 0.0)
        divergence = (wanted.exp() * apart).sum()
        given = self.given_loss(batch)
        expected = (held.exp().unsqueeze(-1) * values).sum(dim=(0, 1)).detach()
        parts = {"divergence": divergence.detach(), "likelihood": given.detach()}
        parts |= dict(zip(self.features, expected, strict=True))
        return Loss(self.likelihood * given + self.weight * divergence, len(batch.lines), parts)

    def values(self, found: Candidates, batch: Batch) -> Tensor:
        """(sentence, candidate, feature), 0 where there is no candidate."""
        source = batch.sequences(SOURCE)
        columns = self.context.task.along(batch.route).vocabularies
        reads, writes = (cast(TextColumn, columns[name]) for name in (SOURCE, TARGET))
        read = [target_text(reads, tuple(ids[mask].tolist())) for ids, mask in zip(*source, strict=True)]
        said = [[target_text(writes, ids) for ids in some] for some in found.targets]
        rows = [
            torch.tensor([one for text, some in zip(read, said, strict=True) for one in feature(text, some)])
            for feature in self.features.values()
        ]
        return torch.stack([found.table(row.to(found.mask.device), 0.0) for row in rows], dim=-1)
