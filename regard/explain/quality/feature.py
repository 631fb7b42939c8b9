"""The contract of quality features: numbers that go with how good a translation is, without a reference."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from regard.arrays import Floats


class WrittenSentence(NamedTuple):
    """Probabilities and attention of a sentence that a model wrote. Pieces include the end symbol."""

    source: int  # pieces of the source
    log_probs: Floats  # (piece,), nats
    entropies: Floats  # (piece,), nats, of the choice among all pieces
    weights: Floats  # (piece, source): attention of each piece; (0, 0): the model has none
    passes: Floats  # (pass,): the mean log-probability of a piece with dropout on; (0,) where it was not asked


class QualityFeature(ABC):
    """A row of QUALITY_FEATURES."""

    needs_passes: ClassVar[bool] = False  # whether it reads passes with dropout

    @abstractmethod
    def value(self, sentence: WrittenSentence) -> float:
        """Return one number for a sentence."""


def entropy(shares: Floats) -> Floats:
    """shares (..., choice) that sum to one → (...) nats."""
    return -(shares * np.log(np.maximum(shares, np.finfo(float).tiny))).sum(axis=-1)
