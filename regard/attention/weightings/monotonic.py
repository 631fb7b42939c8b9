"""Attention that only moves forward (Raffel et al. 2017, https://arxiv.org/abs/1704.00784)."""

from typing import Annotated, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.aliases import alias
from regard.attention.parts import Attended, Memory, View, Weighting
from regard.attention.weightings.hard import at_first
from regard.config import Doc
from regard.config.bounds import AnyFloat, NotNegative


class MonotonicWeighting(Weighting):
    """weights_tj = p_tj sum_(k <= j) weights_(t-1)k prod_(k <= l < j) (1 - p_tl), p_tj = sigmoid(score_tj + offset).

    Expected attention of a process that starts at the first key, moves on from the key of the last query and stops at
    key j with probability p_tj; after passing the last key it attends to none. `offset` is learned. `noise` is the
    standard deviation of the noise added to scores in training, which drives p to 0 or 1; with `hard` p is 0 or 1 at
    inference.

    Cost: O(n·m·log m), query by query
    """

    aliases = (
        "online_monotonic",
        alias(
            "monotonic, 单调",
            note="that of Raffel et al. 2017 (local-m of Luong et al. 2015 is span 'local_monotonic')",
        ),
        alias("hard_monotonic", {"hard": True}),
    )
    sequential = True
    whole = True
    normalised = False

    def __init__(
        self,
        query_dim: int,
        *,
        offset: Annotated[AnyFloat, Doc("Initial value of the learned bias of the scores.")] = -1.0,
        noise: Annotated[NotNegative, Doc("Standard deviation of the noise added to the scores in training.")] = 1.0,
        hard: Annotated[bool, Doc("At inference, attend to one key alone (hard attention).")] = False,
    ) -> None:
        super().__init__()
        self.offset = nn.Parameter(torch.tensor(float(offset)))
        self.noise, self.hard = noise, hard

    def begin(self, queries: Tensor, memory: Memory) -> Tensor:
        return at_first(memory, queries.dtype)

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., 1, key) → weights of the same shape."""
        scores = scores + self.offset
        if self.training and self.noise:
            scores = scores + self.noise * torch.randn_like(scores)
        stops = (scores > 0).to(scores.dtype) if self.hard and not self.training else scores.sigmoid()
        if view.mask is not None:
            stops = stops.masked_fill(~view.mask, 0.0)
        passed = functional.pad(1 - stops, (1, 0))[..., :-1]
        return stops * _carried(passed, past.unsqueeze(-2).expand_as(stops)), {}

    def after(self, past: Tensor, attended: Attended, scores: Any) -> Tensor:
        if attended.weights is None or not attended.weights.shape[-2]:
            return past
        return attended.weights[..., -1, :]


def _carried(keeps: Tensor, added: Tensor) -> Tensor:
    """x_j = keeps_j x_(j-1) + added_j along the last axis, in log2(length) steps of sums and products: no division."""
    step = 1
    while step < added.shape[-1]:
        added = added + keeps * functional.pad(added, (step, 0))[..., :-step]
        keeps = keeps * functional.pad(keeps, (step, 0))[..., :-step]
        step *= 2
    return added
