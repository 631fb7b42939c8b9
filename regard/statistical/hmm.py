"""Links that follow each other: the HMM of https://aclanthology.org/C96-2141, with NULL as in J03-1002."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np

from regard.arrays import Floats
from regard.config import Doc
from regard.config.bounds import Count
from regard.statistical.alignment_model import NULL_PROBABILITY, AlignmentModel, Expected, NullProbability, Shape

M_STEPS = 10  # of the M step


class Hmm(AlignmentModel[Floats]):
    """p(i | i', I) ∝ jumps[i - i'], i' the source word of the last target word that has one.

    The sentence begins before its first word. `counts` are (1 + source, source): expected jumps from the beginning or
    a source word to a source word.
    """

    def __init__(
        self,
        *,
        null_probability: NullProbability = NULL_PROBABILITY,
        max_jump: Annotated[Count, Doc("Maximum jump with its own probability; longer jumps share the last one.")] = 10,
    ) -> None:
        self.null_probability, self.max_jump = null_probability, max_jump

    def start(self, shapes: Sequence[Shape]) -> Floats:
        """A step forward is the likeliest jump."""
        return np.exp(-0.5 * np.abs(np.arange(-self.max_jump, self.max_jump + 1) - 1.0))

    def expect(self, positions: Floats, words: Floats) -> Expected:
        """Forward and backward; the state after a target word is the last source word so far, 0 before any."""
        sentences, targets, width = words.shape
        moves, stay = self.transitions(positions, width - 1)
        null = stay * words[:, :, :1]
        forward, scales = np.zeros((targets + 1, sentences, width)), np.empty((targets, sentences, 1))
        forward[0, :, 0] = 1
        for place in range(targets):
            after = forward[place] * null[:, place]
            after[:, 1:] += forward[place] @ moves * words[:, place, 1:]
            scales[place] = after.sum(axis=1, keepdims=True)
            forward[place + 1] = after / scales[place]
        behind = np.ones((sentences, width))
        posteriors, ahead = np.empty_like(words), np.empty((targets, sentences, width - 1))
        for place in reversed(range(targets)):
            ahead[place] = words[:, place, 1:] * behind[:, 1:] / scales[place]
            still = null[:, place] * behind / scales[place]
            posteriors[:, place, 1:] = forward[place] @ moves * ahead[place]
            posteriors[:, place, 0] = (forward[place] * still).sum(axis=1)
            behind = ahead[place] @ moves.T + still
        each = targets * sentences
        counts = moves * (forward[:-1].reshape(each, width).T @ ahead.reshape(each, width - 1))
        return Expected(posteriors, counts, float(np.log(scales).sum()))

    def transitions(self, positions: Floats, sources: int) -> tuple[Floats, float]:
        """(1 + source, source): p of going from a state to a source word; and p of NULL."""
        if not sources:
            return np.zeros((1, 0)), 1.0
        weights = positions[self._jumps(sources)]
        return (1 - self.null_probability) * weights / weights.sum(axis=1, keepdims=True), self.null_probability

    def maximise(self, positions: Floats, counts: Mapping[Shape, Floats]) -> Floats:
        """Minorise and maximise (https://doi.org/10.1214/aos/1079120141), which never lowers the likelihood.

        A jump's weight becomes its count over what all places from which it is possible would want of a weight of 1:
        not all jumps are possible from all places, so counts alone do not maximise the likelihood.
        """
        sizes = sorted({sources for sources, _ in counts if sources})
        if not sizes:
            return positions
        kinds = 2 * self.max_jump + 1
        found, possible, leaving = np.zeros(kinds), list[Floats](), list[Floats]()
        for size in sizes:
            count = np.sum([one for (sources, _), one in counts.items() if sources == size], axis=0)
            jumps = self._jumps(size)
            found += np.bincount(jumps.ravel(), count.ravel(), minlength=kinds)
            possible.append((jumps[:, :, None] == np.arange(kinds)).sum(axis=1).astype(np.float64))
            leaving.append(count.sum(axis=1))
        options, total = np.concatenate(possible), np.concatenate(leaving)
        weights = positions
        for _ in range(M_STEPS):
            wanted = (total / (options @ weights)) @ options
            weights = np.divide(found, wanted, out=np.zeros(kinds), where=wanted > 0).clip(min=1e-12)
            weights /= weights.sum()
        return weights

    def _jumps(self, sources: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """(1 + source, source): which weight each jump has."""
        jumps = np.arange(sources) - np.arange(-1, sources)[:, None]
        return jumps.clip(-self.max_jump, self.max_jump) + self.max_jump
