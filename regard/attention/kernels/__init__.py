"""Computation of attention. Only this package chooses a path; every fast path is tested to equal `plain`."""

from regard.attention.kernels.choose import attend
from regard.attention.kernels.softmax import masked_softmax

__all__ = ["attend", "masked_softmax"]
