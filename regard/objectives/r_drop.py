"""Two passes with other dropout must agree (R-Drop, https://arxiv.org/abs/2106.14448)."""

from typing import Annotated

from regard.config import Doc
from regard.config.bounds import NotNegative
from regard.config.common_settings import LabelSmoothing
from regard.objectives.objective import Context, Objective, copied
from regard.ops.cross_entropy import paired_cross_entropy
from regard.records import Batch, Loss


class RDropObjective(Objective):
    """½ (L_1 + L_2) + weight · ½ (KL(p_1 ‖ p_2) + KL(p_2 ‖ p_1)), p_1 and p_2 of two passes with other dropout.

    L is the label-smoothed loss of `likelihood`, KL that of the choices at each place. The paper's α, beside the sum
    of both losses, is twice the weight. A pass reads every text twice. Raises ConfigError for a model that does not
    give the probabilities of all choices.
    """

    aliases = "regularised_dropout, regularized_dropout"

    def __init__(
        self,
        context: Context,
        *,
        weight: Annotated[NotNegative, Doc("Weight of the KL divergence between both passes.")] = 2.5,
        label_smoothing: LabelSmoothing = 0.1,
    ) -> None:
        super().__init__(context)
        self.weight, self.label_smoothing = weight, label_smoothing

    def loss(self, batch: Batch, turn: str) -> Loss:
        both = self.context.model.distributions(copied(batch, 2))
        targets = both.reference.chunk(2)[0]
        agreed = paired_cross_entropy(both.scores, targets, self.label_smoothing, self.weight)
        total, losses, divergence = (one.sum() for one in agreed)
        return Loss(total, batch.count, {"loss": losses, "divergence": divergence})
