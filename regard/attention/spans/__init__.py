"""Spans: what may be looked at. One file a row, each built with (query_dim, key_dim)."""

from regard.attention.parts import Span
from regard.attention.spans.causal import CausalSpan
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.spans.local_predictive import LocalPredictiveSpan
from regard.attention.spans.same_position import SamePositionSpan
from regard.registry import Registry

SPANS: Registry[Span] = Registry(
    "attention.span",
    {
        "causal": CausalSpan,
        "everywhere": EverywhereSpan,
        "local_predictive": LocalPredictiveSpan,
        "same_position": SamePositionSpan,
    },
)
