"""Computation of attention. Only this package chooses a path; every fast path is tested to equal `plain`."""

from regard.attention.kernels.choose import attend

__all__ = ["attend"]
