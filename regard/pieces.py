"""Pieces that every vocabulary has: the specials, and the 256 bytes in which anything else is spelt."""

import re

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")  # how they are shown beside other pieces
END = SPECIALS[EOS]
MASK_PIECE = "<mask>"  # where it is reserved, the last piece of a vocabulary

_BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")


def byte_piece(byte: int) -> str:
    """Return how a byte is shown.

    >>> byte_piece(228)
    '<0xE4>'
    """
    return f"<0x{byte:02X}>"


def byte_of(piece: str) -> int | None:
    """Return the byte that a piece such as `<0xE4>` stands for. None: it is another piece."""
    found = _BYTE.fullmatch(piece)
    return int(found[1], 16) if found else None
