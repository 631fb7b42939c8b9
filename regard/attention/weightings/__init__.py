"""Weightings: how scores become weights. One file a row, each built with (query_dim,)."""

from regard.attention.parts import Weighting
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.registry import Registry

WEIGHTINGS: Registry[Weighting] = Registry("attention.weighting", {"softmax": SoftmaxWeighting})
