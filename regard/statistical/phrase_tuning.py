"""Weights of a phrase-based translator by what they do on a dev part: decode, collect candidates, search weights."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from regard.arrays import Floats
from regard.statistical.mert import CandidateStatistics, Tuned, Values
from regard.statistical.phrase_decoder import PhraseDecoder
from regard.statistical.phrase_table import Phrase

_Judge = Callable[[Sequence[int], Sequence[Phrase]], Floats]  # sentences, a translation of each → (row, statistic)
SearchWeights = Callable[[CandidateStatistics, Floats, Values], Tuned]


class Round(NamedTuple):
    """What the weights of one round do."""

    decoder: PhraseDecoder
    value: float  # of the best translations
    candidates: int  # of all rounds so far


class _Pool:
    """Different translations of each sentence, of all rounds."""

    def __init__(self, size: int) -> None:
        self.features: list[dict[Phrase, Floats]] = [{} for _ in range(size)]
        self.statistics: list[dict[Phrase, Floats]] = [{} for _ in range(size)]

    def add(self, decoder: PhraseDecoder, sentences: Sequence[Sequence[str]], n_best: int, judge: _Judge) -> Floats:
        """Decode all sentences; return the summed statistics of the best translations."""
        fresh, best = list[tuple[int, Phrase]](), list[Phrase]()
        for place, sentence in enumerate(sentences):
            found = decoder.different(sentence, n_best)
            best.append(found[0].words)
            for one in found:
                if one.words not in self.features[place]:
                    self.features[place][one.words] = decoder.features(one, len(sentence))
                    fresh.append((place, one.words))
        if fresh:
            for (place, words), row in zip(fresh, judge(*zip(*fresh, strict=True)), strict=True):
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
    judge: _Judge,
    values: Values,
    search: SearchWeights,
    *,
    rounds: int = 5,
    n_best: int = 100,
    told: Callable[[Round], None] = lambda one: None,
) -> PhraseDecoder:
    """Return the decoder whose best translations of the sentences have the highest figure, of those of all rounds.

    Each round searches weights for all candidates so far, around the best ones that were tried: candidates of bad
    weights then keep it from going there again. It ends early where a round finds no new ones.
    """
    pool, best, count = _Pool(len(sentences)), Round(decoder, -np.inf, 0), 0
    for number in range(rounds + 1):
        sums = pool.add(decoder, sentences, n_best if number < rounds else 1, judge)
        before, count = count, sum(map(len, pool.features))
        here = Round(decoder, float(values(sums[None])[0]), count)
        told(here)
        best = max(best, here, key=lambda one: one.value)
        if number == rounds or count == before:
            break
        decoder = decoder.reweighted(search(pool.candidates(), best.decoder.weights, values).weights)
    return best.decoder
