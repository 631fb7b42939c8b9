"""Pieces ↔ ids for tokenizers that count: specials, the 256 bytes, then pieces by falling frequency."""

from collections.abc import Iterable, Mapping, Sequence

from regard.pieces import SPECIALS, UNK, byte_piece

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
