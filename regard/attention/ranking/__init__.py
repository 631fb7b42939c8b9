"""Attention that ranks: which of several results belongs at which place of a list. An idea from a blog, made usable.

Its source leaves open what queries and keys are: `shapes` has the three readings that fit, as pure functions. Usable is
`RankingAttention`, in which places ask and results answer; `order` reads a list off its scores, `order_loss` and
`expected_dcg` train it, `ndcg` judges it.
"""

from regard.attention.ranking.gain import expected_dcg, ndcg
from regard.attention.ranking.order import order, order_loss
from regard.attention.ranking.places import RankingAttention
from regard.attention.ranking.shapes import places_by_places, places_by_results, results_by_places

__all__ = [
    "RankingAttention",
    "expected_dcg",
    "ndcg",
    "order",
    "order_loss",
    "places_by_places",
    "places_by_results",
    "results_by_places",
]
