"""Sides in the wrong language: exchanged, both in one language, or in a third one."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats, Longs
from regard.statistical.pair_checks.check import Finding, PairCheck, PairCorpus, folded
from regard.text.language_counts import count_languages, identifier

_BITS = 21  # of a code point
_WEIGHT = 4.0  # occurrences that the distribution without context counts as
_SURE = 5.0  # nats by which the other side's language has to be more probable
_STRANGE = 2.5  # standard deviations below the usual probability from which a text is identified
_CONFIDENT = 0.9  # probability of a third language


class WrongLanguage(PairCheck):
    """A text that is more like the other side of the corpus than like its own, or is in a third language.

    Trigrams of characters of both sides decide the first; texts that are unlike both go to py3langid. The languages
    themselves are found in the corpus.
    """

    about = "wrong language"
    quick = False

    def findings(self, corpus: PairCorpus) -> Iterator[Finding]:
        if not corpus.pairs:
            return
        sides = corpus.sides
        models = [CharacterModel(side) for side in sides]
        own, other = ([models[abs(side - turn)].log_probs(sides[side]) for side in (0, 1)] for turn in (0, 1))
        leads = [there - here for here, there in zip(own, other, strict=True)]
        names = [count_languages(side).most_common(1)[0][0] for side in sides]
        strange = [_unlikely(logs, side) for logs, side in zip(own, sides, strict=True)]
        for row, pair in enumerate(corpus.pairs):
            both = leads[0][row], leads[1][row]
            if min(both) > 0 and sum(both) > _SURE:
                yield Finding(row, 0.95, "source and target are exchanged")
            elif max(both) > _SURE and folded(pair.source) != folded(pair.target):
                side = int(both[1] > both[0])
                yield Finding(row, 0.8, f"the {_NAMES[side]} is in the language of the {_NAMES[1 - side]}")
            else:
                yield from _third(row, pair, names, [bool(one[row]) for one in strange])


_NAMES = ("source", "target")


def _third(row: int, pair: Sequence[str], names: Sequence[str], strange: Sequence[bool]) -> Iterator[Finding]:
    for side, text in enumerate(pair):
        if strange[side]:
            language, confidence = identifier().classify(text.lower())
            if language not in names and confidence > _CONFIDENT:
                yield Finding(row, min(0.9, float(confidence)), f"the {_NAMES[side]} seems to be in '{language}'")
                return


def _unlikely(logs: Floats, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts (text,) are less probable, for each character, than is usual for their length."""
    sizes = np.array([len(text) + 1 for text in texts], np.float64)
    means = logs / sizes
    scaled = (means - np.median(means)) * np.sqrt(sizes)
    spread = 1.4826 * np.median(np.abs(scaled))
    return scaled < -_STRANGE * max(float(spread), 1e-6)


class CharacterModel:
    """log p(character | the two before it), interpolated with the frequency of the character."""

    def __init__(self, texts: Sequence[str]) -> None:
        grams, _ = trigrams(texts)
        self.keys, found = np.unique(grams, return_counts=True)
        counts: Floats = found.astype(np.float64)
        contexts, places = np.unique(self.keys >> _BITS, return_inverse=True)
        totals: Floats = np.bincount(places, counts).astype(np.float64)
        letters, which = np.unique(self.keys & (2**_BITS - 1), return_inverse=True)
        shares: Floats = np.bincount(which, counts) / max(1, counts.sum())
        self.counts, self.letters, self.shares, self.contexts, self.totals = counts, letters, shares, contexts, totals
        self.unseen = 0.5 / (counts.sum() + len(letters) + 1)

    def log_probs(self, texts: Sequence[str]) -> Floats:
        """Return log p of each text (text,), in nats, its end included."""
        grams, starts = trigrams(texts)
        shares = _looked_up(self.letters, self.shares, grams & (2**_BITS - 1), self.unseen)
        counts = _looked_up(self.keys, self.counts, grams, 0.0)
        totals = _looked_up(self.contexts, self.totals, grams >> _BITS, 0.0)
        logs = np.log((counts + _WEIGHT * shares) / (totals + _WEIGHT))
        return np.add.reduceat(logs, starts) if len(starts) else np.zeros(0)


def trigrams(texts: Sequence[str]) -> tuple[Longs, Longs]:
    """Return the trigrams of texts as numbers, each text with an end, and where those of each text begin.

    A text begins behind two ends. Case does not count.
    """
    lowered = [text.lower() for text in texts]
    codes = np.frombuffer("\0\0".join(["", *lowered, ""]).encode("utf-32-le", "replace"), np.uint32).astype(np.int64)
    lengths = np.array([len(text) + 1 for text in lowered], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    inside = np.arange(starts[-1]) + np.repeat(np.arange(len(lengths)), lengths)  # two ends stand behind each text
    return (codes[inside] << 2 * _BITS) | (codes[inside + 1] << _BITS) | codes[inside + 2], starts[:-1]


def _looked_up(keys: Longs, values: Floats, wanted: Longs, default: float) -> Floats:
    if not len(keys):
        return np.full(len(wanted), default)
    places = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], default)
