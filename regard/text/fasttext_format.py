"""fastText's binary models: words, and vectors of character n-grams that spell words which are not there.

Layout (src/fasttext.cc, src/dictionary.cc and src/densematrix.cc of https://github.com/facebookresearch/fastText,
version 12): magic and version, settings, dictionary, pruned n-grams, then the matrix of words and buckets. A word's
vector is the mean of its own row and those of its n-grams (https://arxiv.org/abs/1607.04606, section 3.2).
"""

import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.packed import PACKED
from regard.text.vector_table import VectorTable, check_size

MAGIC = struct.pack("<i", 793712314)
VERSIONS = (11, 12)
_LONGEST, _WIDEST, BUCKETS = 4096, 1_000_000, 2**31  # bytes of a word, numbers of a vector, rows of a matrix
_BLOCK = 2**22  # bytes of the matrix that are read at once
SUPERVISED = 3  # a model that chooses labels: those of format 11 have no n-grams
END_OF_SENTENCE = "</s>"  # fastText's own word, which has no n-grams
_DAMAGED = "cut short or damaged?"


class _Model(NamedTuple):
    """The part of a file before its matrix."""

    rows: dict[str, int]  # of the words that are wanted
    words: int  # all of them
    dim: int
    shortest: int  # characters of an n-gram
    longest: int
    buckets: int
    pruned: dict[int, int] | None  # bucket → row behind the words, where the file keeps some alone


def read_fasttext(path: Path, file: IO[bytes], words: Collection[str] | None) -> VectorTable:
    """Return the vectors of `words`, spelt by n-grams where the file lacks them also in lower case; None: all of it.

    `file` stands behind the magic. Raises DataError for a model that is damaged or quantised.
    """
    model = _read_model(path, file, words)
    (quantised,) = _unpacked(path, file, "<?")
    if quantised:
        raise DataError(path, "is a quantised model of fastText (.ftz)", hint="the .bin it was made of")
    rows, dim = _unpacked(path, file, "<qq")
    if dim != model.dim or not model.words <= rows <= model.words + BUCKETS:
        raise DataError(path, f"has a matrix of {rows} × {dim} for {model.words} words of {model.dim}", hint=_DAMAGED)
    if path.suffix not in PACKED and path.stat().st_size - file.tell() < 4 * rows * dim:
        raise DataError(path, f"ends within its {rows:,} vectors", hint=_DAMAGED)
    found = {word: [row, *_bucket_rows(model, word)] for word, row in model.rows.items()}
    for word in words or ():
        if word and word not in found and word.lower() not in model.rows and (spelt := _bucket_rows(model, word)):
            found[word] = spelt
    check_size(path, len(found), dim)
    with np.errstate(all="ignore"):
        vectors = _means(path, file, list(found.values()), rows, dim)
    if not np.isfinite(vectors).all():
        wrong = list(found)[int(np.argmin(np.isfinite(vectors).all(axis=1)))]
        problem = f"the vector of '{wrong:.60}' has a number that is infinite or none"
        raise DataError(path, problem, hint=_DAMAGED)
    return VectorTable(list(found), vectors)


def _read_model(path: Path, file: IO[bytes], words: Collection[str] | None) -> _Model:
    (version,) = _unpacked(path, file, "<i")
    if version not in VERSIONS:
        problem = f"is a model of fastText's format {version}"
        raise DataError(path, problem, hint=f"{VERSIONS[-1]} is the one that is read")
    dim, *_, kind, buckets, shortest, longest, _ = _unpacked(path, file, "<12i")
    _unpacked(path, file, "<d")
    if version == VERSIONS[0] and kind == SUPERVISED:
        longest = 0
    size, count, labels, _, kept = _unpacked(path, file, "<iiiqq")
    bounds = (
        0 < dim <= _WIDEST and 0 <= count <= size == count + labels and buckets >= 0 and -1 <= kept <= size + buckets
    )
    if not bounds or not longest <= _LONGEST:
        raise DataError(path, f"says that it has {size} words of {dim} numbers and {buckets} n-grams", hint=_DAMAGED)
    wanted = None if words is None else {*words, *map(str.lower, words)}
    rows = dict[str, int]()
    for number, word in enumerate(_entries(path, file, size)):
        if number < count and (wanted is None or word in wanted):
            rows.setdefault(word, number)
    pairs = (_unpacked(path, file, "<ii") for _ in range(kept))
    pruned = None if kept < 0 else {bucket: row for bucket, row in pairs}
    return _Model(rows, count, dim, shortest, longest, buckets, pruned)


def _unpacked(path: Path, file: IO[bytes], layout: str) -> tuple[int, ...]:
    data = file.read(struct.calcsize(layout))
    if len(data) < struct.calcsize(layout):
        raise DataError(path, "ends within a model of fastText", hint=_DAMAGED)
    return struct.unpack(layout, data)


def _entries(path: Path, file: IO[bytes], count: int) -> Iterator[str]:
    """The words of the dictionary, labels behind them."""
    for number in range(1, count + 1):
        word = bytearray()
        while (letter := file.read(1)) not in (b"\0", b""):
            word += letter
            if len(word) > _LONGEST:
                raise DataError(path, f"word {number:,} has more than {_LONGEST:,} bytes", hint=_DAMAGED)
        _unpacked(path, file, "<qb")
        yield word.decode(errors="replace")


def _bucket_rows(model: _Model, word: str) -> list[int]:
    """The rows of the n-grams of a word, "<" and ">" around it."""
    if model.longest <= 0 or model.buckets == 0 or word == END_OF_SENTENCE:
        return []
    letters, found = [letter.encode(errors="replace") for letter in f"<{word}>"], list[int]()
    for start in range(len(letters)):
        for length in range(max(1, model.shortest), min(model.longest, len(letters) - start) + 1):
            if length == 1 and start in (0, len(letters) - 1):
                continue
            bucket = _hash(b"".join(letters[start : start + length])) % model.buckets
            row = bucket if model.pruned is None else model.pruned.get(bucket)
            if row is not None:
                found.append(model.words + row)
    return found


def _hash(data: bytes) -> int:
    """FNV-1a of 32 bits, whose bytes are signed as they are in fastText."""
    code = 2166136261
    for byte in data:
        code = ((code ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return code


def _means(path: Path, file: IO[bytes], wanted: list[list[int]], rows: int, dim: int) -> NDArray[np.float32]:
    """The mean of some rows for each word; the matrix is read once, from its beginning."""
    pairs = np.array([(row, place) for place, some in enumerate(wanted) for row in some], np.int64).reshape(-1, 2)
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    if len(pairs) and pairs[-1, 0] >= rows:
        raise DataError(path, f"has n-grams in row {pairs[-1, 0]:,} of {rows:,}", hint=_DAMAGED)
    sums, step, first = np.zeros((len(wanted), dim), np.float32), max(1, _BLOCK // (4 * dim)), 0
    while len(pairs):
        count = min(step, rows - first)
        data = file.read(4 * dim * count)
        if len(data) < 4 * dim * count:
            raise DataError(path, f"ends within its {rows:,} vectors", hint=_DAMAGED)
        here = int(np.searchsorted(pairs[:, 0], first + count))
        some, pairs = pairs[:here], pairs[here:]
        np.add.at(sums, some[:, 1], np.frombuffer(data, "<f4").reshape(count, dim)[some[:, 0] - first])
        first += count
    return sums / np.array([[len(some)] for some in wanted], np.float32).reshape(-1, 1)
