"""Word alignment by EM: a lexicon and the positions of a model are learnt together, in both directions."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats
from regard.evaluation.alignments import Link
from regard.statistical.alignment_model import AlignmentModel, Shape
from regard.statistical.bitext import Bitext, Block
from regard.statistical.ibm1 import Ibm1
from regard.statistical.lexical_table import Lexicon
from regard.statistical.symmetrisation import Symmetrisation

_CHUNK = 2**22  # word pairs whose posteriors are held at once
ITERATIONS, _WARM_UP, ALPHA = 5, 5, 0.0

Cells = NDArray[np.int32]  # (sentence, target, 1 + source): places of word pairs in a lexicon
IterationReport = Callable[[float], None]  # after each iteration: log-likelihood before it, in nats


class Direction(NamedTuple):
    """A model of target words given source words, and what it has learnt."""

    model: AlignmentModel[Any]
    positions: Any
    lexicon: Lexicon  # p(target | source)

    def links(self, bitext: Bitext) -> list[list[Link]]:
        """Return the links of each sentence pair, sorted by target.

        Each target word is linked to its likeliest source word, all links of the others being summed over, or to none.
        """
        links: list[list[Link]] = [[] for _ in range(len(bitext))]
        for block in bitext.blocks():
            words = self.lexicon.probabilities(bitext, block)
            best = self.model.expect(self.positions, words).posteriors.argmax(axis=-1)
            for place, sources in zip(block.places.tolist(), best.tolist(), strict=True):
                links[place] = [(source - 1, target) for target, source in enumerate(sources) if source]
        return links


def fit(
    bitext: Bitext,
    model: AlignmentModel[Any],
    *,
    iterations: int = ITERATIONS,
    warm_up: int = _WARM_UP,
    alpha: float = ALPHA,
    report: IterationReport = lambda log_likelihood: None,
) -> Direction:
    """Learn a model by `iterations` of EM, from a lexicon that `warm_up` iterations of IBM model 1 have learnt.

    `alpha`: see `Lexicon.with_counts`; the warm-up has none. Without it the log-likelihood of an iteration is no less
    than that of the one before, as long as the model is the same.
    """
    (fitted,) = _learn([(bitext, bitext.blocks())], model, (warm_up, iterations), alpha, report)
    return fitted


class BothWays(NamedTuple):
    """Models of target words given source words and of source words given target words."""

    forward: Direction
    reverse: Direction

    def links(self, bitext: Bitext, symmetrise: Symmetrisation) -> list[list[Link]]:
        """Return one alignment (source, target) of each sentence pair, out of both models."""
        turned = ([(source, target) for target, source in row] for row in self.reverse.links(bitext.flipped()))
        return [symmetrise(*both) for both in zip(self.forward.links(bitext), turned, strict=True)]


def fit_both(
    bitext: Bitext,
    model: AlignmentModel[Any],
    *,
    iterations: int = ITERATIONS,
    warm_up: int = _WARM_UP,
    alpha: float = ALPHA,
    agree: bool = True,
    report: IterationReport = lambda log_likelihood: None,
) -> BothWays:
    """Learn a model in both directions, see `fit`.

    `agree`: the lexicons count a link by the product of what both directions hold of it, so each learns what the other
    knows (https://aclanthology.org/N06-1014); sentence pairs with an empty side are then not learnt from, and the
    log-likelihood, that of both, may fall.
    """
    counts, turned = (warm_up, iterations), bitext.flipped()
    if agree:
        blocks = [block for block in bitext.blocks() if block.sources.shape[1] > 1]
        sides = [(bitext, blocks), (turned, [block.flipped() for block in blocks])]
        return BothWays(*_learn(sides, model, counts, alpha, report))
    return BothWays(*(_learn([(one, one.blocks())], model, counts, alpha, report)[0] for one in (bitext, turned)))


def _learn(
    sides: Sequence[tuple[Bitext, list[Block]]],
    model: AlignmentModel[Any],
    counts: tuple[int, int],
    alpha: float,
    report: IterationReport,
) -> list[Direction]:
    """EM for one direction, or for two that agree: their blocks hold the same sentence pairs."""
    lexicons = [Lexicon.uniform(*side) for side in sides]
    cells = [[one.cells(block) for block in blocks] for one, (_, blocks) in zip(lexicons, sides, strict=True)]
    fitted = [Direction(Ibm1(), None, lexicon) for lexicon in lexicons]
    stages: tuple[tuple[AlignmentModel[Any], bool, float], ...] = ((Ibm1(), False, 0.0), (model, True, alpha))
    for (stage, agree, prior), count in zip(stages, counts, strict=True):
        starts = [stage.start([_shape(cell) for cell in one]) for one in cells]
        fitted = [Direction(stage, start, one.lexicon) for start, one in zip(starts, fitted, strict=True)]
        for _ in range(count):
            tallies = [_Tally(one) for one in fitted]
            for row in zip(*cells, strict=True):
                found = [tally.expect(cell) for tally, cell in zip(tallies, row, strict=True)]
                posteriors = agreed(*found) if agree and len(found) > 1 else found
                for tally, cell, posterior in zip(tallies, row, posteriors, strict=True):
                    tally.add(cell, posterior)
            fitted = [tally.maximise(prior) for tally in tallies]
            report(sum(tally.log_likelihood for tally in tallies))
    return fitted


def agreed(forward: Floats, reverse: Floats) -> list[Floats]:
    """Posteriors of both directions, (sentence, target, 1 + source) and (sentence, source, 1 + target), multiplied.

    Those of NULL, which the other direction has not, stay.
    """
    both = forward[:, :, 1:] * reverse[:, :, 1:].transpose(0, 2, 1)
    turned = both.transpose(0, 2, 1)
    return [np.concatenate([forward[:, :, :1], both], axis=2), np.concatenate([reverse[:, :, :1], turned], axis=2)]


class _Tally:
    """The counts of one iteration, in one direction."""

    def __init__(self, fitted: Direction) -> None:
        self.fitted, self.log_likelihood = fitted, 0.0
        self._values = fitted.lexicon.values.clip(min=1e-100)  # nothing is divided by 0 where digits have run out
        self._counts, self._by_shape = np.zeros(len(self._values)), dict[Shape, Floats]()
        self._waiting, self._cells = list[tuple[Cells, Floats]](), 0

    def expect(self, cells: Cells) -> Floats:
        """Return the posteriors of a block."""
        found = self.fitted.model.expect(self.fitted.positions, self._values[cells])
        self._by_shape[_shape(cells)] = found.counts
        self.log_likelihood += found.log_likelihood
        return found.posteriors

    def add(self, cells: Cells, posteriors: Floats) -> None:
        """Count posteriors; those of many blocks at once, for the lexicon is large."""
        self._waiting.append((cells.ravel(), posteriors.ravel()))
        self._cells += cells.size
        if self._cells > _CHUNK:
            self._count()

    def _count(self) -> None:
        if self._waiting:
            places, posteriors = (np.concatenate(side) for side in zip(*self._waiting, strict=True))
            self._counts += np.bincount(places, posteriors, minlength=len(self._counts))
        self._waiting, self._cells = [], 0

    def maximise(self, alpha: float) -> Direction:
        """The M step."""
        self._count()
        model, positions, lexicon = self.fitted
        return Direction(model, model.maximise(positions, self._by_shape), lexicon.with_counts(self._counts, alpha))


def _shape(cells: Cells) -> Shape:
    return cells.shape[2] - 1, cells.shape[1]
