"""The contract of calibrations."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from regard.arrays import Floats, Longs

_LEAST = 1e-12  # probability that a logarithm is taken of


class Calibration(ABC):
    """A row of CALIBRATIONS. Its settings are what was fitted: built without any it changes nothing."""

    @abstractmethod
    def fitted(self, probabilities: Floats, right: Longs) -> Self:
        """probabilities (item, choice), of which `right` (item,) was the right one → the calibration of these items."""

    @abstractmethod
    def apply(self, probabilities: Floats) -> Floats:
        """(item, choice) → the same shape, the same array where nothing changes. Rows sum to one."""

    @abstractmethod
    def values(self) -> Mapping[str, Any]:
        """Return the settings that build it."""


class Calibrations(NamedTuple):
    """Calibration of the probabilities of a run's answers."""

    items: Calibration  # each item: a piece, a tag, the label
    answers: Calibration | None = None  # then the mean of an answer's items; None: these have one item each


def logarithms(probabilities: Floats) -> Floats:
    """Return the logarithms, those of 0 finite."""
    return np.log(np.maximum(probabilities, _LEAST))


def normalised(scores: Floats) -> Floats:
    """scores (item, choice) → their softmax over the choices."""
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)
