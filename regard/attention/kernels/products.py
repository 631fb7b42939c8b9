"""Attention as its formula says: all scores, all weights, one product with the values."""

from typing import Any

from torch import Tensor

from regard.attention.parts import Attended, Memory, Score, Span, View, Weighting
from regard.dropout import dropout as drop

Parts = tuple[Score, Span, Weighting]


def by_products(
    parts: Parts, queries: Tensor, memory: Memory, view: View, past: tuple[Any, ...], dropout: float
) -> tuple[Attended, Tensor]:
    """queries (..., query, query_dim) → what they saw, without its past, and the scores (..., query, key)."""
    score, _, weighting = parts
    scores = score(queries, memory.keys, past[0])
    if view.bias is not None:
        scores = scores + view.bias
    weights, terms = weighting(scores, view, queries, past[2])
    if view.gain is not None:
        weights = weights * view.gain
    mixing = drop(weights, dropout).to(memory.values.dtype)
    context = mixing @ memory.values
    if view.values is not None:
        context = context + (mixing.unsqueeze(-2) @ view.values).squeeze(-2)
    return Attended(context, weights, (), terms), scores
