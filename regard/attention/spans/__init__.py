"""Spans: the keys that a query may see. One file a row, each built with (query_dim, key_dim)."""

from regard.attention.parts import Span
from regard.attention.spans.alibi import AlibiSpan
from regard.attention.spans.causal import CausalSpan
from regard.attention.spans.distance_bias import DistanceBiasSpan
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.spans.forced_forward import ForcedForwardSpan
from regard.attention.spans.local_monotonic import LocalMonotonicSpan
from regard.attention.spans.local_predictive import LocalPredictiveSpan
from regard.attention.spans.relative import RelativeSpan
from regard.attention.spans.same_position import SamePositionSpan
from regard.attention.spans.temporal import TemporalSpan
from regard.attention.spans.window import WindowSpan
from regard.registry import Registry

SPANS: Registry[Span] = Registry(
    "attention.span",
    {
        "alibi": AlibiSpan,
        "causal": CausalSpan,
        "distance_bias": DistanceBiasSpan,
        "everywhere": EverywhereSpan,
        "forced_forward": ForcedForwardSpan,
        "local_monotonic": LocalMonotonicSpan,
        "local_predictive": LocalPredictiveSpan,
        "relative": RelativeSpan,
        "same_position": SamePositionSpan,
        "temporal": TemporalSpan,
        "window": WindowSpan,
    },
)
