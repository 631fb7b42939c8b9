"""Pairs whose words do not translate each other: shifted, shuffled or invented lines."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Gt, Lt

from regard.arrays import Floats, Longs
from regard.config import Doc
from regard.data.ragged import Ragged
from regard.statistical.aligner import fit
from regard.statistical.bitext import Bitext, Block
from regard.statistical.ibm1 import Ibm1
from regard.statistical.lexical_table import Lexicon
from regard.statistical.pair_checks.check import Finding, PairCheck, PairCorpus

_ROUNDS = 4  # of EM
_FREQUENT = 3  # pairs that a word needs to tell anything: a rarer one translates whatever stands beside it
_PRIOR = 1.0  # links that the distribution of all words counts as
_HIGHEST, _LOWEST = 4.0, -3.0  # nats that one word may add
_BINS = 24  # of scores
_SIZES = (1.0, 2.5, 4.5, 8.5, np.inf)  # words that tell something, of pairs that are compared with each other
_MANY = 200  # pairs that a class of sizes needs
_NEAR = 500  # pairs of about equal length that are shuffled
_SHOWN = 0.1  # severity from which a pair is shown


class UnrelatedSides(PairCheck):
    """Two sides whose words do not translate each other.

    IBM model 1 gives log p(word | other side) / p(word) for each frequent word; their mean is the score of a pair. The
    same scores of pairs put together at random show what unrelated sides look like. The severity is the posterior
    probability that a pair is one of those.
    """

    about = "unrelated sides"
    quick = False

    def __init__(
        self, *, prior: Annotated[float, Gt(0), Lt(1), Doc("Prior probability that a pair is unrelated.")] = 0.03
    ) -> None:
        self.prior = prior

    def findings(self, corpus: PairCorpus) -> Iterator[Finding]:
        bitext = Bitext.of(corpus.words)
        sides = [_Counted.of(one) for one in (bitext, bitext.flipped())]
        scores, sizes = _scores(sides, bitext, learned=True)
        severities = posteriors_of(scores, sizes, *_scores(sides, _shuffled(bitext), learned=False), self.prior)
        for row in np.flatnonzero(severities > _SHOWN).tolist():
            reason = f"words do not translate each other ({scores[row]:.1f} nats a word)"
            yield Finding(row, float(severities[row]), reason)


class _Counted(NamedTuple):
    """Expected counts of IBM model 1 in one direction."""

    lexicon: Lexicon  # p(target | source)
    pairs: Lexicon  # expected links of each source and target word
    totals: Floats  # of each source word
    frequencies: Longs  # of each target word

    @classmethod
    def of(cls, bitext: Bitext) -> "_Counted":
        """Count the links of sentence pairs."""
        lexicon = fit(bitext, Ibm1(), iterations=0, warm_up=_ROUNDS).lexicon
        counts = np.zeros(len(lexicon.values))
        for block in bitext.blocks():
            cells = lexicon.cells(block)
            posteriors = lexicon.values[cells]
            posteriors /= posteriors.sum(axis=2, keepdims=True)
            counts += np.bincount(cells.ravel(), posteriors.ravel(), minlength=len(counts))
        totals = np.add.reduceat(np.append(counts, 0.0), lexicon.starts[:-1]) * (np.diff(lexicon.starts) > 0)
        pairs = Lexicon(lexicon.source_words, lexicon.target_words, lexicon.keys, counts)
        frequencies = np.bincount(bitext.targets.data, minlength=len(bitext.target_words))
        return cls(lexicon, pairs, totals, frequencies)

    def gains(self, bitext: Bitext, block: Block, *, learned: bool) -> Floats:
        """Return log p(word | source) / p(word) of target words (sentence, target), in nats.

        What a pair that was `learned` from has added to the counts is taken off: its words would translate each other.
        """
        usual = self.frequencies[block.targets][:, :, None] / max(1, int(self.frequencies.sum()))
        counts = self.pairs.probabilities(bitext, block)
        totals = np.broadcast_to(self.totals[block.sources][:, None, :], counts.shape)
        if learned:
            posteriors = self.lexicon.probabilities(bitext, block)
            posteriors /= posteriors.sum(axis=2, keepdims=True)
            counts = (counts - posteriors).clip(min=0)
            totals = (totals - posteriors.sum(axis=1, keepdims=True)).clip(min=0)
        found = (counts + _PRIOR * usual) / (totals + _PRIOR)
        gains: Floats = np.log(found[:, :, 1:].mean(axis=2) / usual[:, :, 0].clip(min=1e-12))
        return gains


def _scores(sides: Sequence[_Counted], bitext: Bitext, *, learned: bool) -> tuple[Floats, Floats]:
    """Return the mean gain (pair,) of the frequent words of both sides, and how many these are."""
    sums, counts = np.zeros(len(bitext)), np.zeros(len(bitext))
    for side, text in zip(sides, (bitext, bitext.flipped()), strict=True):
        for block in text.blocks():
            if block.sources.shape[1] > 1:
                known = side.frequencies[block.targets] >= _FREQUENT
                gains = side.gains(text, block, learned=learned).clip(_LOWEST, _HIGHEST)
                sums[block.places] += np.where(known, gains, 0).sum(axis=1)
                counts[block.places] += known.sum(axis=1)
    return sums / np.maximum(counts, 1), counts


def _shuffled(bitext: Bitext) -> Bitext:
    """Return the same sources with targets of other pairs of about their length."""
    generator = np.random.default_rng(1)
    order = np.lexsort((bitext.targets.lengths(), bitext.sources.lengths()))
    moved = np.concatenate([generator.permutation(part) for part in np.array_split(order, max(1, len(order) // _NEAR))])
    places = np.empty_like(order)
    places[order] = moved
    targets = Ragged.of([bitext.targets.row(place).tolist() for place in places.tolist()], np.dtype(np.int32))
    return Bitext(bitext.source_words, bitext.target_words, bitext.sources, targets)


def posteriors_of(scores: Floats, sizes: Floats, null: Floats, null_sizes: Floats, prior: float) -> Floats:
    """Return the posterior (pair,) that a score is one of unrelated sides, π f₀ / f, which never rises with the score.

    `prior` is π, the prior, and `null` the scores of unrelated pairs. Pairs are compared with those of about as many
    words; 0 where there are too few of them.
    """
    found, edges = np.zeros(len(scores)), np.linspace(_LOWEST, _HIGHEST, _BINS + 1)
    for low, high in pairwise(_SIZES):
        here, there = (sizes >= low) & (sizes < high), (null_sizes >= low) & (null_sizes < high)
        if min(here.sum(), there.sum()) < _MANY:
            continue
        observed, by_chance = (
            np.histogram(one, edges)[0] + 0.5 for one in (scores[here].clip(_LOWEST, _HIGHEST), null[there])
        )
        rates = (prior * (by_chance / by_chance.sum()) / (observed / observed.sum())).clip(max=1)
        falling = np.maximum.accumulate(rates[::-1])[::-1]
        found[here] = falling[(np.digitize(scores[here], edges) - 1).clip(0, _BINS - 1)]
    return found
