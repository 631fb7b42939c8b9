"""Minimum error rate training (Och 2003, https://aclanthology.org/P03-1021): weights by the metric itself.

Along a line w + γ·d the score of each candidate is a line in γ, so the best candidate of a sentence changes where the
upper envelope of these lines bends. Between two bends of any sentence the corpus figure is constant: all its values
along the line are found exactly. Random restarts: https://aclanthology.org/W08-0304.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats
from regard.statistical.phrase_decoder import PhraseDecoder
from regard.statistical.phrase_table import Phrase

_Region = tuple[Floats, Floats]  # the lowest and the highest weights (feature,) that are tried
Values = Callable[[Floats], Floats]  # sums of statistics (case, statistic) → figure of each, more is better

_LEAST_GAIN = 1e-4  # a gain that is worth a step
BEYOND = 1.0  # how far behind the last bend weights are set


class CandidateStatistics(NamedTuple):
    """Translations of sentences, padded to equal numbers."""

    features: Floats  # (sentence, candidate, feature)
    statistics: Floats  # (sentence, candidate, statistic)
    mask: NDArray[np.bool_]  # (sentence, candidate), the first of each is there

    @classmethod
    def of(cls, features: Sequence[Floats], statistics: Sequence[Floats]) -> "CandidateStatistics":
        """Candidates of each sentence: (candidate, feature) and (candidate, statistic), at least one."""
        most = max(map(len, features))
        mask = np.arange(most) < np.array([len(some) for some in features])[:, None]
        padded = []
        for rows in (features, statistics):
            padded.append(np.zeros((*mask.shape, rows[0].shape[1])))
            padded[-1][mask] = np.concatenate(rows)
        return cls(padded[0], padded[1], mask)

    def chosen(self, weights: Floats) -> Floats:
        """Return the sums (statistic,) of the candidates that score best, of equals the first."""
        scores = np.where(self.mask, self.features @ weights, -np.inf)
        best = scores.argmax(axis=1)
        total: Floats = self.statistics[np.arange(len(best)), best].sum(axis=0)
        return total


class Tuned(NamedTuple):
    """Weights (feature,) and their figure."""

    weights: Floats
    value: float


def figures_along(
    candidates: CandidateStatistics, weights: Floats, direction: Floats, values: Values
) -> tuple[Floats, Floats]:
    """Return the bends (bend,) along a line, rising, and the figure (bend + 1,) before, between and behind them."""
    heights = np.where(candidates.mask, candidates.features @ weights, -np.inf)
    slopes = candidates.features @ direction
    rows = np.arange(len(heights))
    lowest = np.where(candidates.mask, slopes, np.inf).min(axis=1, keepdims=True)
    now = np.where(slopes == lowest, heights, -np.inf).argmax(axis=1)  # the best far to the left
    start = candidates.statistics[rows, now].sum(axis=0)
    bends, changes = [np.zeros(0)], [np.zeros((0, len(start)))]
    while len(rows):
        height, slope = heights[rows], slopes[rows]
        here = np.arange(len(rows))
        rise = slope - slope[here, now][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            places = np.where((rise > 0) & candidates.mask[rows], (height[here, now][:, None] - height) / rise, np.inf)
        first = places.min(axis=1)
        steepest = np.where(places == first[:, None], rise, -np.inf).argmax(axis=1)
        goes_on = np.isfinite(first)
        moved = candidates.statistics[rows, steepest] - candidates.statistics[rows, now]
        bends.append(first[goes_on])
        changes.append(moved[goes_on])
        rows, now = rows[goes_on], steepest[goes_on]
    places, moved = np.concatenate(bends), np.concatenate(changes)
    order = np.argsort(places, kind="stable")
    sums = start + np.concatenate([np.zeros((1, len(start))), np.cumsum(moved[order], axis=0)])
    return places[order], values(sums)


def line_search(
    candidates: CandidateStatistics, weights: Floats, direction: Floats, values: Values,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Tuned:  # fmt: skip
    """Return the best weights along a line: the middle of the best stretch, of equals the one nearest to `weights`.

    `bounds` are those of γ.
    """
    bends, figures = figures_along(candidates, weights, direction, values)
    if not len(bends):
        return Tuned(weights, float(figures[0]))
    low, high = bounds
    ends = low if math.isfinite(low) else bends[0] - 2 * BEYOND, high if math.isfinite(high) else bends[-1] + 2 * BEYOND
    edges = np.concatenate([ends[:1], bends.clip(low, high), ends[1:]])
    middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    figures = np.where(widths > 1e-12, figures, -np.inf)  # a stretch of no width cannot be met
    best = np.flatnonzero(figures == figures.max())
    place = best[np.abs(middles[best]).argmin()]
    return Tuned(weights + middles[place] * direction, float(figures[place]))


def _region(weights: Floats, reach: float) -> _Region:
    """Limits of each weight: a multiple of its size, or of the mean size if it is smaller."""
    sizes = np.abs(weights)
    width = reach * np.maximum(sizes, sizes.mean())
    return weights - width, weights + width


def minimise_errors(
    candidates: CandidateStatistics,
    weights: Floats,
    values: Values,
    *,
    restarts: int = 8,
    reach: float = 0.5,
    seed: int = 0,
) -> Tuned:
    """Return the best weights near those given that line searches along the axes find, also from random starts.

    Far from the weights that candidates were made with they do not stand for what a decoder would find: see `_region`.
    The sizes of the result sum to 1, which changes no choice.
    """
    rng, region = np.random.default_rng(seed), _region(weights, reach)
    starts = [weights, *(rng.uniform(*region) for _ in range(restarts))]
    found = [_climb(candidates, start, values, region, rng) for start in starts]
    best = max(found, key=lambda one: one.value)
    return Tuned(best.weights / np.abs(best.weights).sum(), best.value)


def random_search(
    candidates: CandidateStatistics,
    weights: Floats,
    values: Values,
    *,
    samples: int = 500,
    reach: float = 0.5,
    seed: int = 0,
) -> Tuned:
    """Return the best of `weights` and of `samples` sampled near them, the sizes summing to 1."""
    sampled = np.random.default_rng(seed).uniform(*_region(weights, reach), size=(samples, len(weights)))
    tried = np.concatenate([weights[None], sampled])
    tried /= np.abs(tried).sum(axis=1, keepdims=True)
    figures = values(np.stack([candidates.chosen(one) for one in tried]))
    return Tuned(tried[figures.argmax()], float(figures.max()))


def bleu_values(sums: Floats) -> Floats:
    """Return BLEU of sums [hypothesis length, reference length, 4 matches, 4 totals] in each row; 0 without a match."""
    lengths, references, matches, totals = sums[:, 0], sums[:, 1], sums[:, 2:6], sums[:, 6:10]
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.log(matches / totals).mean(axis=1)
        brevity = np.minimum(0.0, 1 - references / lengths)
    found: Floats = np.where((matches > 0).all(axis=1), 100 * np.exp(precisions + brevity), 0.0)
    return found


def _climb(
    candidates: CandidateStatistics,
    weights: Floats,
    values: Values,
    region: _Region,
    rng: np.random.Generator,
) -> Tuned:
    """Line searches along each axis in turn, in random order, until a round gains nothing."""
    best = Tuned(weights, float(values(candidates.chosen(weights)[None])[0]))
    while True:
        before = best.value
        for axis in rng.permutation(len(weights)):
            direction = np.zeros(len(weights))
            direction[axis] = 1.0
            bounds = region[0][axis] - best.weights[axis], region[1][axis] - best.weights[axis]
            found = line_search(candidates, best.weights, direction, values, bounds)
            if found.value > best.value + _LEAST_GAIN:
                best = found
        if best.value <= before + _LEAST_GAIN:
            return best


# Rounds of decoding a dev part and searching weights for all translations so far

_Evaluate = Callable[[Sequence[int], Sequence[Phrase]], Floats]  # sentences, a translation of each → (row, statistic)
SearchWeights = Callable[[CandidateStatistics, Floats, Values], Tuned]
WEIGHT_SEARCHES: Mapping[str, SearchWeights] = {"mert": minimise_errors, "random": random_search}


class Round(NamedTuple):
    """Result of the weights of one round."""

    decoder: PhraseDecoder
    value: float  # of the best translations
    candidates: int  # of all rounds so far


class _Pool:
    """Different translations of each sentence, of all rounds."""

    def __init__(self, size: int) -> None:
        self.features: list[dict[Phrase, Floats]] = [{} for _ in range(size)]
        self.statistics: list[dict[Phrase, Floats]] = [{} for _ in range(size)]

    def add(
        self, decoder: PhraseDecoder, sentences: Sequence[Sequence[str]], n_best: int, evaluate: _Evaluate, end: float
    ) -> Floats | None:
        """Decode all sentences; return the summed statistics of the best translations, or None when the time ends."""
        fresh, best = list[tuple[int, Phrase]](), list[Phrase]()
        for place, sentence in enumerate(sentences):
            if time.monotonic() > end:
                return None
            found = decoder.different(sentence, n_best)
            best.append(found[0].words)
            for one in found:
                if one.words not in self.features[place]:
                    self.features[place][one.words] = decoder.features(one, len(sentence))
                    fresh.append((place, one.words))
        if fresh:
            for (place, words), row in zip(fresh, evaluate(*zip(*fresh, strict=True)), strict=True):
                self.statistics[place][words] = row
        total: Floats = np.sum([self.statistics[place][words] for place, words in enumerate(best)], axis=0)
        return total

    def candidates(self) -> CandidateStatistics:
        """All of them."""
        rows = ([np.stack([*one.values()]) for one in kind] for kind in (self.features, self.statistics))
        return CandidateStatistics.of(*rows)


def tuned(
    decoder: PhraseDecoder,
    sentences: Sequence[Sequence[str]],
    evaluate: _Evaluate,
    values: Values,
    search: SearchWeights,
    *,
    rounds: int = 5,
    n_best: int = 100,
    seconds: float = math.inf,
    report: Callable[[Round], None] = lambda one: None,
) -> PhraseDecoder:
    """Return the decoder whose best translations of the sentences have the highest figure, of those of all rounds.

    Each round searches weights for all candidates so far, around the best ones that were tried: candidates of bad
    weights then keep it from going there again. It ends early where a round finds no new ones, and after `seconds`,
    with the best of the rounds that were complete.
    """
    pool, best, count = _Pool(len(sentences)), Round(decoder, -np.inf, 0), 0
    end = time.monotonic() + seconds
    for number in range(rounds + 1):
        sums = pool.add(decoder, sentences, n_best if number < rounds else 1, evaluate, end)
        if sums is None:
            break
        before, count = count, sum(map(len, pool.features))
        here = Round(decoder, float(values(sums[None])[0]), count)
        report(here)
        best = max(best, here, key=lambda one: one.value)
        if number == rounds or count == before:
            break
        decoder = decoder.reweighted(search(pool.candidates(), best.decoder.weights, values).weights)
    return best.decoder
