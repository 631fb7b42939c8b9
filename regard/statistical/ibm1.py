"""IBM model 1 of https://aclanthology.org/J93-2003: every position is as likely as any other."""

from collections.abc import Mapping, Sequence

import numpy as np

from regard.arrays import Floats
from regard.statistical.alignment_model import Shape, ZeroOrder


class Ibm1(ZeroOrder[None]):
    """p(i | j) = 1 / (I + 1): words alone decide which belong together. Its likelihood has one maximum."""

    def start(self, shapes: Sequence[Shape]) -> None:
        """There are no positions to learn."""

    def prior(self, positions: None, shape: Shape) -> Floats:
        sources, targets = shape
        return np.full((targets, sources + 1), 1 / (sources + 1))

    def maximise(self, positions: None, counts: Mapping[Shape, Floats]) -> None:
        """There are no positions to learn."""
