"""Word alignment by EM: a lexicon and the positions of a model are learnt together, in both directions."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from regard.evaluation.alignments import Link
from regard.statistical.alignment_model import AlignmentModel, Expected
from regard.statistical.bitext import Bitext
from regard.statistical.ibm1 import Ibm1
from regard.statistical.lexicon import Floats, Lexicon
from regard.statistical.symmetrisation import Symmetrisation

CHUNK = 2**22  # word pairs whose posteriors are held at once
ITERATIONS, WARM_UP, ALPHA = 5, 5, 0.0

Told = Callable[[float], None]  # after each iteration: log-likelihood before it, in nats


class OneWay(NamedTuple):
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
    warm_up: int = WARM_UP,
    alpha: float = ALPHA,
    told: Told = lambda log_likelihood: None,
) -> OneWay:
    """Learn a model by `iterations` of EM, from a lexicon that `warm_up` iterations of IBM model 1 have learnt.

    `alpha`: see `Lexicon.with_counts`. Without it the log-likelihood of an iteration is no less than that of the one
    before, as long as the model is the same.
    """
    blocks = bitext.blocks()
    lexicon = Lexicon.uniform(bitext, blocks)
    cells = [lexicon.cells(block) for block in blocks]
    shapes = [(block.sources.shape[1] - 1, block.targets.shape[1]) for block in blocks]
    fitted = OneWay(Ibm1(), None, lexicon)
    stages: list[tuple[AlignmentModel[Any], int]] = [(Ibm1(), warm_up), (model, iterations)]
    for stage, count in stages:
        fitted = OneWay(stage, stage.start(shapes), fitted.lexicon)
        for _ in range(count):
            fitted, log_likelihood = _iteration(fitted, cells, alpha)
            told(log_likelihood)
    return fitted


def _iteration(fitted: OneWay, cells: list[Any], alpha: float) -> tuple[OneWay, float]:
    """One E and one M step; the log-likelihood is that of what is given."""
    model, positions, lexicon = fitted
    values = lexicon.values.clip(min=1e-100)  # nothing is divided by 0 where a probability has run out of digits
    counts, total, by_shape = np.zeros(len(values)), 0.0, {}
    waiting = list[tuple[Any, Floats]]()
    for number, cell in enumerate(cells, start=1):
        found: Expected = model.expect(positions, values[cell])
        by_shape[cell.shape[2] - 1, cell.shape[1]] = found.counts
        total += found.log_likelihood
        waiting.append((cell.ravel(), found.posteriors.ravel()))
        if number == len(cells) or sum(len(one) for one, _ in waiting) > CHUNK:
            places, posteriors = (np.concatenate(side) for side in zip(*waiting, strict=True))
            counts += np.bincount(places, posteriors, minlength=len(counts))
            waiting.clear()
    return OneWay(model, model.maximise(positions, by_shape), lexicon.with_counts(counts, alpha)), total


class BothWays(NamedTuple):
    """Models of target words given source words and of source words given target words."""

    forward: OneWay
    reverse: OneWay

    def links(self, bitext: Bitext, symmetrise: Symmetrisation) -> list[list[Link]]:
        """Return one alignment (source, target) of each sentence pair, out of both models."""
        turned = ([(source, target) for target, source in row] for row in self.reverse.links(bitext.flipped()))
        return [symmetrise(*both) for both in zip(self.forward.links(bitext), turned, strict=True)]


def fit_both(
    bitext: Bitext,
    model: AlignmentModel[Any],
    *,
    iterations: int = ITERATIONS,
    warm_up: int = WARM_UP,
    alpha: float = ALPHA,
    told: Told = lambda log_likelihood: None,
) -> BothWays:
    """Learn a model in both directions, see `fit`."""
    sides = (bitext, bitext.flipped())
    return BothWays(*(fit(one, model, iterations=iterations, warm_up=warm_up, alpha=alpha, told=told) for one in sides))
