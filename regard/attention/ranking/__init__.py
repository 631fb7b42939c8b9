"""Attention that ranks: it assigns several results to the places of a list. The idea comes from a blog.

The blog does not say what queries and keys are: `shapes` has the three possible readings as pure functions. Use
`RankingAttention`, whose queries are places and whose keys are results; `order` returns the list of its scores,
`order_loss` and `expected_dcg` train it, `ndcg` evaluates it.
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
