"""Temporal attention of https://arxiv.org/abs/1705.04304, section 2.1: keys that scored high before count less now."""

from typing import NamedTuple

import torch
from torch import Tensor

from regard.attention.parts import Attended, Memory, Span, View
from regard.attention.spans.counting import taken
from regard.ops.functional import wide


class Scored(NamedTuple):
    """The scores of the queries so far."""

    total: Tensor  # (..., key): log sum_(t'<t) exp(score_t'j), 0 before the first query
    queries: int  # how many they were


class TemporalSpan(Span):
    """weights_tj ∝ exp(score_tj) / sum_(t'<t) exp(score_t'j); at the first query ∝ exp(score_1j) (equations 3 and 4).

    Taken as a softmax of score_tj - log sum_(t'<t) exp(score_t'j), so that no exponential can overflow. The score is
    the one with the biases of other spans; keys that a query did not see are counted too, as in the paper, where all
    are seen.

    Cost: O(n·m·d), query by query
    """

    aliases = "intra_temporal, temporal_intra, paulus, summariser, summarizer, 摘要"
    sequential = True
    whole = True

    def begin(self, queries: Tensor, memory: Memory) -> Scored:
        keys = memory.keys
        return Scored(keys.new_zeros(keys.shape[:-1], dtype=wide(keys.real.dtype)), 0)

    def after(self, past: Scored, attended: Attended, scores: Tensor | None) -> Scored:
        """Add the score of one query, which came with the bias of this span."""
        if scores is None:
            raise ValueError("temporal attention needs the scores of each query")
        if not scores.shape[-2]:
            return past
        own = scores.squeeze(-2) - self._bias(past, scores.dtype)
        return Scored(torch.logaddexp(past.total, own) if past.queries else own.to(past.total.dtype), past.queries + 1)

    def view_at(self, queries: Tensor, memory: Memory, past: Scored, places: Tensor) -> View:
        """One query (..., 1, query_dim) → the bias of each key."""
        return View(bias=taken(self._bias(past, queries.real.dtype).unsqueeze(-2), places))

    def _bias(self, past: Scored, dtype: torch.dtype) -> Tensor:
        return -past.total.to(dtype)
