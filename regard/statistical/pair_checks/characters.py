"""Trigrams of characters: how probable a text is as one of a language that a corpus shows."""

from collections.abc import Sequence

import numpy as np

from regard.arrays import Floats, Longs

_BITS = 21  # of a code point
_WEIGHT = 4.0  # occurrences that the distribution without context counts as


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
