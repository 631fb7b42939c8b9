"""Weightings: how scores become weights. One file a row, each built with (query_dim,)."""

from regard.attention.parts import Weighting
from regard.attention.weightings.sigmoid import SigmoidWeighting
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.attention.weightings.unnormalised import UnnormalisedWeighting
from regard.registry import Registry

WEIGHTINGS: Registry[Weighting] = Registry(
    "attention.weighting",
    {"sigmoid": SigmoidWeighting, "softmax": SoftmaxWeighting, "unnormalised": UnnormalisedWeighting},
)
