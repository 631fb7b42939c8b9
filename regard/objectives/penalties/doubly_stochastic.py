"""Attention should cover every part of the source (Xu et al. 2015, https://arxiv.org/abs/1502.03044, section 4.2.1)."""

from torch import Tensor

from regard.attention import Role
from regard.objectives.penalties.penalty import Attentions, Penalty, Weight
from regard.objectives.reinforce import column_mask
from regard.records import Batch


class DoublyStochasticPenalty(Penalty):
    """sum_i (1 - sum_t weights_ti)², i over the source, t over the target (equation 14 of the paper).

    Padding counts on neither side, nor do places that an encoder unfolds behind the source's end. Of several heads,
    each of which is to see all of the source, it is the mean.

    Cost: O(n·m·num_heads)
    """

    aliases = "双随机"

    def __init__(self, *, weight: Weight = 1.0, attentions: Attentions = None) -> None:
        super().__init__(weight, attentions)

    def of_one(self, name: str, role: Role, weights: Tensor, batch: Batch) -> Tensor:
        """weights (rows, head, target, source) → (rows, source)."""
        if role.queries is None or role.keys is None or not role.crosses:
            raise self.refused("attentions", f"'{name}' attends to no source", "leave it out")
        target, source = (column_mask(column, batch, len(weights)) for column in (role.queries, role.keys))
        source = self.fitted(source, weights.shape[-1], name)
        seen = (weights * target[:, None, :, None]).sum(dim=-2)
        return ((1 - seen).square() * source[:, None]).mean(dim=1)
