"""The diagonal form of IBM model 2: fast_align, https://aclanthology.org/N13-1073."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np

from regard.arrays import Floats
from regard.config import Doc
from regard.config.bounds import Positive
from regard.statistical.alignment_model import NULL_PROBABILITY, NullProbability, Shape, ZeroOrder

STEEPEST = 64.0  # tension, where all words lie on the diagonal


class Diagonal(ZeroOrder[float]):
    """p(i | j, I, J) ∝ exp(-tension · |i / I - j / J|): one number in place of IBM-2's table, learnt as well."""

    aliases = "fast_align"

    def __init__(
        self,
        *,
        null_probability: NullProbability = NULL_PROBABILITY,
        tension: Annotated[Positive, Doc("Initial precision around the diagonal (diagonal tension).")] = 4.0,
    ) -> None:
        self.null_probability, self.tension = null_probability, tension

    def start(self, shapes: Sequence[Shape]) -> float:
        return self.tension

    def prior(self, positions: float, shape: Shape) -> Floats:
        if not shape[0]:
            return np.ones((shape[1], 1))
        near = np.exp(-positions * _distances(shape))
        near *= (1 - self.null_probability) / near.sum(axis=1, keepdims=True)
        return np.pad(near, ((0, 0), (1, 0)), constant_values=self.null_probability)

    def maximise(self, positions: float, counts: Mapping[Shape, Floats]) -> float:
        """Halve the interval of the tension until the expected distance of links is the one that was found.

        The likelihood is concave in the tension, and this difference is its slope.
        """
        shapes = [shape for shape in counts if shape[0]]
        if not shapes:
            return positions
        distances = np.concatenate([_distances(shape).ravel() for shape in shapes])
        found = np.concatenate([counts[shape][:, 1:].ravel() for shape in shapes])
        widths = np.repeat([shape[0] for shape in shapes], [shape[1] for shape in shapes])
        starts = np.cumsum(widths) - widths
        totals = np.add.reduceat(found, starts)
        low, high = 0.0, STEEPEST
        for _ in range(40):
            tension = (low + high) / 2
            near = np.exp(-tension * distances)
            means = np.add.reduceat(near * distances, starts) / np.add.reduceat(near, starts)
            low, high = (tension, high) if totals @ means > found @ distances else (low, tension)
        return (low + high) / 2


def _distances(shape: Shape) -> Floats:
    """(target, source)."""
    sources, targets = shape
    return np.abs(np.arange(1, sources + 1) / sources - np.arange(1, targets + 1)[:, None] / targets)
