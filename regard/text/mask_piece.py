"""Tokenizers with one piece more: <mask>, which stands for a piece that a model is to fill in."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from regard.errors import PartError
from regard.pieces import MASK_PIECE
from regard.text.offsets import TextPlace
from regard.text.tokenizer import Tokenizer

MASK_FILE = "mask"  # in the folder of a tokenizer that has the piece
_STAND_IN = "\ue0fd"  # a private character, spelt in bytes: what an inner tokenizer reads in place of <mask>


class _Cut(NamedTuple):
    """One piece of a text with masks."""

    id: int
    first: int  # piece of the inner tokenizer, and the first one behind
    behind: int


class MaskedTokenizer(Tokenizer):
    """The pieces of another tokenizer, and <mask> as the last. A text has it only where it is written out.

    A mask takes the place of a piece with the space before it: `a <mask>, b` has as many pieces as `a dog, b`.
    """

    def __init__(self, inner: Tokenizer) -> None:
        """Raises PartError for a tokenizer that has one piece for all words that it does not know."""
        if not inner.keeps_words:
            problem = f"loses the words that it does not know, so {MASK_PIECE} would look like them"
            raise PartError(problem, "subwords or words")
        self.inner, self.kind, self.mask, self._last = inner, inner.kind, len(inner), len(inner)
        self.lossless, self.keeps_words, self.samples = inner.lossless, inner.keeps_words, inner.samples
        spelt = inner.encode(_STAND_IN)
        width = len(inner.encode(_STAND_IN * 2)) - len(spelt)
        self._spellings = spelt, spelt[len(spelt) - width :]  # of a mask: with the space before it, and without

    def __len__(self) -> int:
        return self._last + 1

    def encode(self, text: str) -> list[int]:
        if MASK_PIECE not in text:
            return self.inner.encode(text)
        return [one.id for one in self._cuts(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        rows = self.inner.encode_batch(texts)
        return [self.encode(text) if MASK_PIECE in text else ids for text, ids in zip(texts, rows, strict=True)]

    def sample(self, text: str, seed: int) -> list[int]:
        """Return a segmentation sampled with the seed; of a text with masks the likeliest."""
        return self.encode(text) if MASK_PIECE in text else self.inner.sample(text, seed)

    def offsets(self, text: str) -> list[TextPlace]:
        if MASK_PIECE not in text:
            return self.inner.offsets(text)
        read = text.replace(MASK_PIECE, _STAND_IN)
        longer, shift, before = len(MASK_PIECE) - len(_STAND_IN), 0, [0]
        for character in read:
            shift += longer * (character == _STAND_IN)
            before.append(shift)
        places, found = self.inner.offsets(read), list[TextPlace]()
        for one in self._cuts(text):
            known = [place for place in places[one.first : one.behind] if place is not None]
            found.append((known[0][0] + before[known[0][0]], known[-1][1] + before[known[-1][1]]) if known else None)
        return found

    def decode(self, ids: Sequence[int]) -> str:
        return self.inner.decode([one for one in ids if one != self.mask])

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [MASK_PIECE if one == self.mask else self.inner.pieces([one])[0] for one in ids]

    def spelt(self, text: str) -> list[str]:
        return self.inner.spelt(text)

    def key(self) -> str:
        return hashlib.sha256(f"{self.inner.key()} {MASK_PIECE}".encode()).hexdigest()

    def files(self) -> dict[str, bytes]:
        return {**self.inner.files(), MASK_FILE: MASK_PIECE.encode()}

    def _cuts(self, text: str) -> list[_Cut]:
        ids, found, place = self.inner.encode(text.replace(MASK_PIECE, _STAND_IN)), list[_Cut](), 0
        while place < len(ids):
            width = next((len(one) for one in self._spellings if ids[place : place + len(one)] == one), 0)
            found.append(_Cut(self._last if width else ids[place], place, place + max(width, 1)))
            place += max(width, 1)
        return found
