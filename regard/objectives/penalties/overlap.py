"""Heads, or hops, should attend elsewhere (Lin et al. 2017, https://arxiv.org/abs/1703.03130, section 2.2)."""

from typing import Annotated, Literal

import torch
from torch import Tensor

from regard.attention import Role
from regard.config import Doc
from regard.objectives.penalties.penalty import Attentions, Penalty, Weight
from regard.objectives.reinforce import query_mask
from regard.records import Batch


class OverlapPenalty(Penalty):
    """|A Aᵀ - I|² (Frobenius), each row of A the weights of one of several hops (equation 8 of the paper).

    between "heads": A is (head, key), for every query that stands for a word; "hops": (query, key), for learned
    queries. A row that sees no key is left out. It is 0 where every row has all its weight on a key of its own.

    Cost: O(n·m·num_heads²) between heads, O(m·hops²) between hops
    """

    aliases = "frobenius"

    def __init__(
        self,
        *,
        weight: Weight = 1.0,
        attentions: Attentions = None,
        between: Annotated[
            Literal["heads", "hops"], Doc("Pairs to keep apart: heads of one attention, or hops of one pooling.")
        ] = "heads",
    ) -> None:
        super().__init__(weight, attentions)
        self.between = between

    def concerns(self, role: Role) -> bool:
        """Return whether it looks from one column at another, or for hops also by learned queries."""
        return role.crosses or (self.between == "hops" and role.queries is None and role.keys is not None)

    def of_one(self, name: str, role: Role, weights: Tensor, batch: Batch) -> Tensor:
        """weights (rows, head, query, key) → (rows, query) between heads, (rows, head) between hops."""
        if self.between == "hops":
            return _overlap(weights)
        if weights.shape[1] == 1:
            problem = f"'{name}' has one head, which overlaps with no other"
            raise self.refused("between", problem, "num_heads of 2 at least, or between: hops")
        apart = _overlap(weights.transpose(1, 2))
        words = query_mask(role, batch, len(weights), weights.shape[-2])
        return apart if words is None else apart * words


def _overlap(rows: Tensor) -> Tensor:
    """(..., row, key) → (...)."""
    alone = torch.diag_embed((rows != 0).any(dim=-1).to(rows.dtype))
    return (rows @ rows.mT - alone).square().sum(dim=(-2, -1))
