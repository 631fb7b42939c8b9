"""Attention as its formula says: all scores, all weights, one product with the values."""

from typing import Any

import torch
from torch import Tensor

from regard.attention.parts import Attended, Memory, Score, Span, View, Weighting
from regard.ops.dropout import dropout as drop
from regard.ops.plain import is_plain

AttentionParts = tuple[Score, Span, Weighting]

_TINY = 400  # multiplications below which torch's batched product on a CPU is a plain loop, slower than a sum


def by_products(
    parts: AttentionParts, queries: Tensor, memory: Memory, view: View, past: tuple[Any, ...], dropout: float
) -> tuple[Attended, Tensor]:
    """queries (..., query, query_dim) → what they saw, without its past, and the scores (..., query, key)."""
    score, _, weighting = parts
    scores = score(queries, memory.keys, past[0])
    return weigh_and_read(weighting, scores, queries, memory.values, view, past[2], dropout)


def weigh_and_read(
    weighting: Weighting, scores: Tensor, queries: Tensor, values: Tensor, view: View, past: Any, dropout: float
) -> tuple[Attended, Tensor]:
    """scores (..., query, key) and values (..., key, value_dim) → what was seen, and the scores with their bias."""
    if view.bias is not None:
        scores = scores + view.bias
    weights, terms = weighting(scores, view, queries, past)
    if view.gain is not None:
        weights = weights * view.gain
    mixing = drop(weights, dropout).to(values.dtype)
    context = _read(mixing, values)
    if view.values is not None:
        context = context + torch.einsum("...qk,...qkv->...qv", mixing, view.values)
    return Attended(context, weights, (), terms), scores


def _read(weights: Tensor, values: Tensor) -> Tensor:
    """weights (..., query, key) @ values (..., key, value_dim)."""
    if is_plain() or values.device.type != "cpu" or torch.is_grad_enabled():  # before sizes: a trace would keep them
        return weights @ values
    if weights.shape[-2] == 1 and values.shape[-2] * values.shape[-1] < _TINY:
        return (values * weights.transpose(-2, -1)).sum(dim=-2, keepdim=True)
    return weights @ values
