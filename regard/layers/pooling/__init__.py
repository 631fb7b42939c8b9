"""Poolings: a sequence → one vector. One file a row, each built with (dim,)."""

from regard.layers.pooling.attention import AttentionPooling
from regard.layers.pooling.convolutional import ConvolutionalPooling
from regard.layers.pooling.convolutional_query import ConvolutionalQueryPooling
from regard.layers.pooling.featurewise import FeaturewisePooling
from regard.layers.pooling.feedforward import FeedForwardPooling
from regard.layers.pooling.first import FirstPooling
from regard.layers.pooling.hierarchical import HierarchicalPooling
from regard.layers.pooling.last import LastPooling
from regard.layers.pooling.max import MaxPooling
from regard.layers.pooling.mean import MeanPooling
from regard.layers.pooling.pooling import Pooling
from regard.layers.pooling.query import QueryPooling
from regard.layers.pooling.sliced import SlicedPooling
from regard.layers.pooling.structured import StructuredPooling
from regard.layers.pooling.tanh_attention import TanhAttentionPooling
from regard.registry import Registry

POOLINGS: Registry[Pooling] = Registry(
    "pooling",
    {
        "attention": AttentionPooling,
        "convolutional": ConvolutionalPooling,
        "convolutional_query": ConvolutionalQueryPooling,
        "featurewise": FeaturewisePooling,
        "feedforward": FeedForwardPooling,
        "first": FirstPooling,
        "last": LastPooling,
        "max": MaxPooling,
        "mean": MeanPooling,
        "query": QueryPooling,
        "sliced": SlicedPooling,
        "structured": StructuredPooling,
        "tanh_attention": TanhAttentionPooling,
    },
)

__all__ = ["POOLINGS", "HierarchicalPooling", "Pooling"]
