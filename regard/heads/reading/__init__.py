"""Heads of readers: where in a passage the answer stands. One file a row, each built with (dim, vector_dim)."""

from regard.heads.reading.attention_sum import AttentionSumHead
from regard.heads.reading.pointers import PointersHead
from regard.heads.reading.span_head import SpanHead
from regard.registry import Registry

SPAN_HEADS: Registry[SpanHead] = Registry("model.head", {"attention_sum": AttentionSumHead, "pointers": PointersHead})
