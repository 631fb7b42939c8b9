"""Weightings: how scores become weights. One file a row, each built with (query_dim,)."""

from regard.attention.parts import Weighting
from regard.attention.weightings.addressing import AddressingWeighting
from regard.attention.weightings.entmax import EntmaxWeighting
from regard.attention.weightings.gumbel import GumbelWeighting
from regard.attention.weightings.hard import HardWeighting
from regard.attention.weightings.linear_start import LinearStartWeighting
from regard.attention.weightings.monotonic import MonotonicWeighting
from regard.attention.weightings.sigmoid import SigmoidWeighting
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.attention.weightings.sparsemax import SparsemaxWeighting
from regard.attention.weightings.unnormalised import UnnormalisedWeighting
from regard.registry import Registry

WEIGHTINGS: Registry[Weighting] = Registry(
    "attention.weighting",
    {
        "addressing": AddressingWeighting,
        "entmax": EntmaxWeighting,
        "gumbel": GumbelWeighting,
        "hard": HardWeighting,
        "linear_start": LinearStartWeighting,
        "monotonic": MonotonicWeighting,
        "sigmoid": SigmoidWeighting,
        "softmax": SoftmaxWeighting,
        "sparsemax": SparsemaxWeighting,
        "unnormalised": UnnormalisedWeighting,
    },
)
