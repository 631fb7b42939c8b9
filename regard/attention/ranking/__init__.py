"""Attention that ranks: it assigns several results to the places of a list. The idea comes from a blog.

The blog does not say what queries and keys are: `shapes` has the three possible readings as pure functions. Use
`RankingAttention`, whose queries are places and whose keys are results; `order` returns the list of its scores,
`order_loss` and `expected_dcg` train it, `ndcg` evaluates it.
"""

import torch
from torch import Tensor, nn

from regard.attention.attention import Attention
from regard.attention.parts import Attended
from regard.attention.scores.scaled_dot import ScaledDotScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.softmax import SoftmaxWeighting


def expected_dcg(weights: Tensor, relevance: Tensor) -> Tensor:
    """sum_p sum_j weights_pj (2^relevance_j - 1) / log2(p + 2), p from 0: weights (..., place, result) → (...)."""
    gains = (weights @ (2**relevance - 1).unsqueeze(-1)).squeeze(-1)
    return (gains * _discounts(gains)).sum(dim=-1)


def ndcg(ordered: Tensor, relevance: Tensor, mask: Tensor | None = None, *, at: int = 5) -> Tensor:
    """DCG of the first `at` places over the best there is; 1 where nothing is relevant.

    ordered (..., place) as `order` gives it, relevance (..., result) → (...).
    """
    gains = 2**relevance - 1
    gains = gains if mask is None else gains.masked_fill(~mask, 0.0)
    found = gains.gather(-1, ordered[..., :at].clamp(min=0)).masked_fill(ordered[..., :at] < 0, 0.0)
    best = gains.sort(dim=-1, descending=True).values[..., : min(at, ordered.shape[-1])]
    reached, possible = ((some * _discounts(some)).sum(dim=-1) for some in (found, best))
    return torch.where(possible > 0, reached / possible.clamp(min=torch.finfo(possible.dtype).tiny), 1.0)


def _discounts(gains: Tensor) -> Tensor:
    return 1 / torch.arange(2, gains.shape[-1] + 2, device=gains.device, dtype=gains.dtype).log2()


def order(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """scores (..., place, result), mask (..., result) → (..., place): the result at each place, -1 where none is left.

    Each place in turn takes the best that is left; of equals the first.
    """
    left = torch.ones_like(scores[..., 0, :], dtype=torch.bool)
    left = left if mask is None else left & mask
    taken = []
    for row in scores.unbind(dim=-2) if scores.shape[-1] else ():
        best = row.masked_fill(~left, float("-inf")).argmax(dim=-1, keepdim=True)
        taken.append(torch.where(left.any(dim=-1, keepdim=True), best, -1))
        left = left.scatter(-1, best, False)
    return torch.cat(taken, dim=-1) if taken else scores.new_full(scores.shape[:-1], -1, dtype=torch.long)


def order_loss(scores: Tensor, ideal: Tensor, mask: Tensor | None = None) -> Tensor:
    """-sum_p log softmax_j(scores_pj) at the ideal result, over the results that no place before p took.

    scores (..., place, result), ideal (..., place) as `order` gives it, mask (..., result) → (...). If all places score
    alike this is ListMLE.
    """
    here = ideal.unsqueeze(-1) == torch.arange(scores.shape[-1], device=scores.device)  # (..., place, result)
    before = here.cumsum(dim=-2) - here.long() > 0
    hidden = before if mask is None else before | ~mask.unsqueeze(-2)
    filled = ideal >= 0  # an empty place costs nothing; hidden all along, its sum would be log 0
    normaliser = scores.masked_fill(hidden & filled.unsqueeze(-1), float("-inf")).logsumexp(dim=-1)
    chosen = scores.gather(-1, ideal.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return torch.where(filled, normaliser - chosen, 0.0).sum(dim=-1)


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


def places_by_places(queries: Tensor, keys: Tensor) -> Tensor:
    """Q Kᵀ: queries (m · d, n), keys (n, n), how place follows place → (m · d, n)."""
    _need(keys.shape[0] == keys.shape[1] == queries.shape[1], "(m·d, n) and (n, n)", queries, keys)
    return queries @ keys.T


def results_by_places(queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """W = softmax(Q Kᵀ), W K: queries (m · d, k), keys (n, k), a place's view of results → (m · d, k), W (m · d, n)."""
    _need(keys.shape[1] == queries.shape[1], "(m·d, k) and (n, k)", queries, keys)
    weights = (queries @ keys.T).softmax(dim=-1)
    return weights @ keys, weights


def places_by_results(queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """The same with n and k exchanged: queries (m · d, n), keys (k, n) → (m · d, n), W (m · d, k)."""
    _need(keys.shape[1] == queries.shape[1], "(m·d, n) and (k, n)", queries, keys)
    return results_by_places(queries, keys)


def _need(fits: bool, wanted: str, queries: Tensor, keys: Tensor) -> None:
    if not fits:
        raise ValueError(f"queries {tuple(queries.shape)} and keys {tuple(keys.shape)} are not {wanted}")
