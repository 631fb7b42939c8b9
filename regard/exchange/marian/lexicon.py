"""Marian's binary shortlist (lex.bin): target pieces that may translate each source piece, with a checksum."""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import CheckpointError

_MAGIC = 0xF11A48D5013417F5
_HEADER = struct.Struct("<6Q")  # magic, checksum, first, best, length of offsets, length of lists
_AGAIN = "it was cut short or changed: fetch it again"
_GOLDEN, _MASK = 0x9E3779B9, (1 << 64) - 1


class BinaryShortlist(NamedTuple):
    """Target pieces of each source piece, by Marian's ids."""

    first: int  # so many ids from 0 on may stand in any target
    lists: Sequence[NDArray[np.uint32]]  # by source id, rising


def read_lexicon(file: Path, source_size: int, target_size: int) -> BinaryShortlist:
    """Read a lex.bin for vocabularies of these sizes.

    Raises CheckpointError where the checksum or the length is wrong, or an id is outside of the vocabulary.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise CheckpointError(file, f"cannot be read: {error.strerror or error}") from error
    if len(content) < _HEADER.size or _HEADER.unpack_from(content)[0] != _MAGIC:
        raise CheckpointError(file, "is not a binary shortlist of Marian", _AGAIN)
    _, noted, first, _, offsets, total = _HEADER.unpack_from(content)
    if _HEADER.size + 8 * offsets + 4 * total != len(content):
        problem = f"has {len(content):,} bytes, and its header asks for {_HEADER.size + 8 * offsets + 4 * total:,}"
        raise CheckpointError(file, problem, _AGAIN)
    if checksum(content) != noted:
        raise CheckpointError(file, "is damaged: its checksum is wrong", _AGAIN)
    places = np.frombuffer(content, "<u8", offsets, _HEADER.size)
    ids = np.frombuffer(content, "<u4", total, _HEADER.size + 8 * offsets)
    ordered = bool((places[:-1] <= places[1:]).all()) and (not len(places) or int(places[-1]) <= total)
    if offsets > source_size + 1 or not ordered or (total and int(ids.max()) >= target_size):
        problem = f"does not fit vocabularies of {source_size:,} and {target_size:,} pieces"
        raise CheckpointError(file, problem, "take the shortlist of this model")
    starts = places.tolist()
    ends = [*starts[1:], total][: len(starts)]
    lists = [ids[start:end] for start, end in zip(starts, ends, strict=True)][:source_size]
    lists += [ids[:0]] * (source_size - len(lists))
    return BinaryShortlist(min(first, target_size), lists)


def write_lexicon(file: Path, lexicon: BinaryShortlist) -> None:
    """Write a lex.bin. Marian refuses a source piece at the end without any translation: each list must have one."""
    lengths = [len(one) for one in lexicon.lists]
    places = np.concatenate([[0], np.cumsum(lengths)]).astype("<u8")
    ids = np.concatenate([np.sort(one) for one in lexicon.lists]).astype("<u4")
    body = places.tobytes() + ids.tobytes()
    sizes = (lexicon.first, max(lengths, default=0), len(places), len(ids))
    blank = _HEADER.pack(_MAGIC, 0, *sizes) + body
    file.write_bytes(_HEADER.pack(_MAGIC, checksum(blank), *sizes) + body)


def checksum(content: bytes) -> int:
    """Return the checksum of a lex.bin: of its whole 64-bit words behind magic and checksum.

    seed ^= word + 0x9e3779b9 + (seed << 6) + (seed >> 2), in 64 bits.
    """
    count = len(content) // 8 - 2
    seed = 0
    for word in np.frombuffer(content, "<u8", max(count, 0), 16).tolist():
        seed ^= (word + _GOLDEN + (seed << 6 & _MASK) + (seed >> 2)) & _MASK
    return seed
