"""The contract of alignment models: each target word has one source word or NULL behind it, and EM learns which."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Generic, NamedTuple, TypeVar

import numpy as np
from annotated_types import Gt, Lt

from regard.arrays import Floats
from regard.config import Doc

Shape = tuple[int, int]  # numbers of source and of target words of a sentence pair
_P = TypeVar("_P")
NullProbability = Annotated[float, Gt(0), Lt(1), Doc("Probability of a null alignment.")]
NULL_PROBABILITY = 0.08


class Expected(NamedTuple):
    """Expected links in sentence pairs of one shape."""

    posteriors: Floats  # (sentence, target, 1 + source), NULL first; a row sums to 1
    counts: Floats  # what positions are learnt from, summed over the sentences
    log_likelihood: float  # log p(target words | source words), summed over the sentences, in nats


class AlignmentModel(ABC, Generic[_P]):
    """Where the source word of each target word stands. What a model learns of it, P, is a value that is passed."""

    @abstractmethod
    def start(self, shapes: Sequence[Shape]) -> _P:
        """Return positions to begin with, for sentence pairs of these shapes."""

    @abstractmethod
    def expect(self, positions: _P, words: Floats) -> Expected:
        """The E step for sentence pairs of one shape.

        `words` (sentence, target, 1 + source) are p(target word | source word), NULL first, all above 0.
        """

    @abstractmethod
    def maximise(self, positions: _P, counts: Mapping[Shape, Floats]) -> _P:
        """The M step: return positions that are no less likely than `positions`, by the counts of each shape."""


class ZeroOrder(AlignmentModel[_P]):
    """Links do not depend on each other: p(link of target word j) is all that there is to know.

    `counts` are (target, 1 + source), expected links.
    """

    @abstractmethod
    def prior(self, positions: _P, shape: Shape) -> Floats:
        """(target, 1 + source): prior probability of each link; a row sums to 1."""

    def expect(self, positions: _P, words: Floats) -> Expected:
        """Links are as likely as their prior times that of their words."""
        _, targets, sources = words.shape
        joint = words * self.prior(positions, (sources - 1, targets))
        totals = joint.sum(axis=-1, keepdims=True)
        joint /= totals
        return Expected(joint, joint.sum(axis=0), float(np.log(totals).sum()))
