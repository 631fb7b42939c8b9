"""Attention from places to results: one learned query for each place of the list."""

import torch
from torch import Tensor, nn

from regard.attention.attention import Attention
from regard.attention.parts import Attended
from regard.attention.scores.scaled_dot import ScaledDotScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.softmax import SoftmaxWeighting


class RankingAttention(nn.Module):
    """weights_pj = softmax_j(place_p · result_j / sqrt(dim)): the attention of learned places over the results."""

    aliases = "attention_for_ranking, 排序"

    def __init__(self, dim: int, num_places: int) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.randn(num_places, dim) * dim**-0.5)
        self.attention = Attention(ScaledDotScore(dim, dim), EverywhereSpan(dim, dim), SoftmaxWeighting(dim))

    def forward(self, results: Tensor, mask: Tensor | None = None) -> Attended:
        """results (batch, result, dim), mask (batch, result) → contexts and weights (batch, place, result)."""
        memory = self.attention.remember(results, mask=mask)
        attended: Attended = self.attention(self.places.expand(len(results), -1, -1), memory, need_weights=True)
        return attended

    def scores(self, results: Tensor) -> Tensor:
        """results (batch, result, dim) → scores (batch, place, result), for the losses and the order."""
        scores: Tensor = self.attention.score(self.places, self.attention.score.prepare(results), None)
        return scores
