"""Pieces ↔ ids for tokenizers that count: specials, the 256 bytes, then pieces by falling frequency."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from regard.pieces import SPECIALS, UNK, byte_piece

_MOST_WORDS = 50_000  # different words, the most frequent ones, that merges are learnt from
FIRST_BYTE = len(SPECIALS)
FIRST_PIECE = FIRST_BYTE + 256


class Vocabulary:
    """A list of pieces; any other text is spelt in bytes."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.listed = tuple(pieces)
        self._ids = {piece: number for number, piece in enumerate(self.listed, start=FIRST_PIECE)}

    @classmethod
    def count(cls, counts: Mapping[str, int], size: int, min_count: int) -> "Vocabulary":
        """The most frequent pieces, `size` in all with specials and bytes; ties by spelling."""
        ranked = sorted((piece for piece in counts if counts[piece] >= min_count), key=lambda one: (-counts[one], one))
        return cls(ranked[: max(0, size - FIRST_PIECE)])

    def __len__(self) -> int:
        return FIRST_PIECE + len(self.listed)

    def ids(self, piece: str) -> list[int]:
        """One id, or one per byte."""
        known = self._ids.get(piece)
        return [known] if known is not None else [FIRST_BYTE + byte for byte in piece.encode()]

    def text(self, ids: Iterable[int]) -> str:
        """Pieces and bytes joined; specials and unknown numbers are left out, bad bytes become U+FFFD."""
        raw = bytearray()
        for number in ids:
            if FIRST_BYTE <= number < FIRST_PIECE:
                raw.append(number - FIRST_BYTE)
            elif FIRST_PIECE <= number < len(self):
                raw += self.listed[number - FIRST_PIECE].encode()
        return raw.decode(errors="replace")

    def shown(self, number: int) -> str:
        """One id for a person's eye."""
        if number < FIRST_BYTE:
            return SPECIALS[max(number, 0)]
        if number < FIRST_PIECE:
            return byte_piece(number - FIRST_BYTE)
        return self.listed[number - FIRST_PIECE] if number < len(self) else SPECIALS[UNK]


def more_merges(
    words: Mapping[tuple[str, ...], int], mergeable: Collection[str], count: int, longest: int
) -> list[str]:
    """Return at most `count` new pieces for words that are cut already, with their frequencies.

    New are characters without a piece, then merges of the most frequent neighbours, as BPE would go on learning
    (https://arxiv.org/abs/1508.07909); `mergeable` are the pieces that may be merged, to `longest` characters at most.
    Each new piece occurs twice at least.
    """
    counts = Counter[str]()
    for word, times in words.items():
        for symbol in word:
            counts[symbol] += times
    added = [one for one, times in counts.most_common() if len(one) == 1 and one not in mergeable and times > 1][:count]
    kept = sorted(words, key=lambda word: -words[word])[:_MOST_WORDS]
    parts, merged = {word: list(word) for word in kept}, {*mergeable, *added}
    while len(added) < count:
        pairs = Counter[str]()
        for word, symbols in parts.items():
            for first, second in pairwise(symbols):
                if first in merged and second in merged and len(first) + len(second) <= longest:
                    pairs[first + second] += words[word]
        best, times = max(pairs.items(), key=lambda one: (one[1], one[0]), default=("", 0))
        if times < 2:
            break
        added.append(best)
        merged.add(best)
        for symbols in parts.values():
            _merge(symbols, best)
    return added


def _merge(symbols: list[str], piece: str) -> None:
    """Join neighbours that spell a piece, from the left."""
    place = 0
    while place < len(symbols) - 1:
        if symbols[place] + symbols[place + 1] == piece:
            symbols[place : place + 2] = [piece]
        place += 1


def matched_ids(
    pieces: Iterable[str], others: Sequence[str], cut: Callable[[str], list[int]] = lambda _: []
) -> list[list[int]]:
    """Return for each piece the id of the equal one among `others`; for a piece without one the ids of `cut`."""
    known = {piece: number for number, piece in reversed([*enumerate(others)])}
    return [[known[piece]] if piece in known else cut(piece) for piece in pieces]
