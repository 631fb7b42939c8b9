"""Files of word vectors, whichever program wrote them: word2vec, GloVe, fastText.

word2vec's have a line `words dim`, then each word with its numbers, as text or binary. fastText's .vec is such a text;
GloVe's lack the first line. A file whose name ends in .gz is compressed.
"""

import struct
import zlib
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.packed import PACKED, open_packed
from regard.text.numbers import is_number
from regard.text.vector_table import VectorTable, check_size

_Row = tuple[str, NDArray[np.float32] | None]  # None: of a word that is not wanted

_LONGEST = 4096  # bytes of a word or of the header
_LINE = 2**24  # bytes of a row
_WIDEST = 1_000_000  # numbers of a vector
HEADER = "the first line is a word and its numbers, or says how many words and numbers there are, as in '20000 300'"


def read_vectors(path: Path, words: Collection[str] | None = None, *, rows: int | None = None) -> VectorTable:
    """Return the vectors of `words`, None being all, among the first `rows`; a file that ends in .gz is compressed.

    A model of fastText's (.bin) spells words that it lacks by their n-grams. Raises DataError, with the line, for a
    file that cannot be read.
    """
    known = None if words is None else frozenset(words)
    try:
        with open_packed(path) as file:
            read = BINARY_FORMATS.get(file.read(len(MAGIC)))
            return read_word2vec(path, file, known, rows) if read is None else read(path, file, known)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def read_word2vec(path: Path, file: IO[bytes], words: Collection[str] | None, rows: int | None = None) -> VectorTable:
    """Return the vectors of `words`, None being all, among the first `rows`; of a word that comes twice the first.

    Raises DataError for a wrong header, a row that is too short or too long, and a vector with a number that is none,
    with the line (in a binary file the row, that of the header being 1).
    """
    file.seek(0)
    first = file.readline(_LINE)
    count, dim = _header(path, first)
    if count is None:
        file.seek(0)
        found = enumerate(_text_rows(path, file, None, dim, words), start=1)
    else:
        start = file.tell()
        kind = _text_rows if _is_text(file.readline(_LINE)) else _binary_rows
        file.seek(start)
        found = enumerate(kind(path, file, count, dim, words), start=2)
    kept = dict[str, NDArray[np.float32]]()
    for line, (word, vector) in islice(found, rows):
        if vector is None or word in kept:
            continue
        if not np.isfinite(vector).all():
            raise DataError(path, f"the vector of '{word:.60}' has a number that is infinite or none", line=line)
        kept[word] = vector
        check_size(path, len(kept), dim)
    return VectorTable(list(kept), np.array(list(kept.values()), np.float32).reshape(len(kept), dim))


def write_word2vec(path: Path, table: VectorTable, *, binary: bool = False) -> None:
    """Write a table. Raises DataError for a word with a space in it, which the format reads as two words."""
    broken = next((word for word in table.words if not word or any(map(str.isspace, word))), None)
    if broken is not None:
        raise DataError(
            path, f"the word '{broken:.60}' is empty or has a space in it", hint="the format has no such words"
        )
    spelt = partial(np.format_float_positional, trim="-")
    with open_packed(path, "wb") as file:
        file.write(f"{len(table)} {table.vectors.shape[1]}\n".encode())
        for word, vector in table:
            numbers = vector.astype("<f4").tobytes() if binary else " ".join(map(spelt, vector)).encode()
            file.write(word.encode() + b" " + numbers + b"\n")


def _header(path: Path, line: bytes) -> tuple[int | None, int]:
    """Return how many words there are, None where no line says so, and how many numbers each has."""
    fields = line.decode(errors="replace").rstrip().split(" ")
    if 2 < len(fields) <= _WIDEST and _is_text(line):
        return None, len(fields) - 1
    if len(fields) != 2 or not all(
        field.isascii() and field.isdigit() and len(field) < 20 and int(field) for field in fields
    ):
        found = line.decode(errors="replace").strip()
        raise DataError(path, f"is not a file of vectors: it begins with '{found:.40}'", line=1, hint=HEADER)
    count, dim = map(int, fields)
    if dim > _WIDEST:
        raise DataError(path, f"the header says {fields[1]:.40} numbers for each word", line=1, hint=HEADER)
    return count, dim


def _is_text(line: bytes) -> bool:
    """Return whether a line is a word and numbers in digits."""
    try:
        _, *fields = line.decode().rstrip().split(" ")
        return bool(fields) and all(map(is_number, fields))
    except UnicodeDecodeError:
        return False


def _text_rows(
    path: Path, file: IO[bytes], count: int | None, dim: int, words: Collection[str] | None
) -> Iterator[_Row]:
    """Words and vectors of a text file; without a `count` a word may have spaces, as some of GloVe's do."""
    line = before = 1 if count is not None else 0
    for line, row in enumerate(iter(partial(file.readline, _LINE), b""), start=before + 1):
        if len(row) == _LINE:
            raise DataError(path, f"more than {_LINE:,} bytes without an end of line", line=line)
        if count is not None and line > count + 1:
            _refuse_count(path, count, line)
        fields = row.decode(errors="replace").rstrip().split(" ")
        if count is None and len(fields) > dim + 1:
            fields = [" ".join(fields[:-dim]), *fields[-dim:]]
        word, *numbers = fields
        if len(numbers) != dim:
            says = "the first line has" if count is None else "the header says"
            raise DataError(path, f"'{word:.60}' has {len(numbers)} numbers and {says} {dim}", line=line)
        if words is not None and word not in words:
            yield word, None
            continue
        try:
            vector = np.array(numbers, np.float32)
        except ValueError:
            wrong = next(field for field in numbers if not is_number(field))
            raise DataError(path, f"'{wrong:.60}' is not a number", line=line) from None
        yield word, vector
    if count is not None and line < count + 1:
        _refuse_count(path, count, line)


def _binary_rows(path: Path, file: IO[bytes], count: int, dim: int, words: Collection[str] | None) -> Iterator[_Row]:
    """Words and vectors of a binary file; a line end before a word does not belong to it."""
    for line in range(2, count + 2):
        word = bytearray()
        while (letter := file.read(1)) not in (b" ", b""):
            if len(word) > _LONGEST:
                raise DataError(path, "has a word that does not end: is this a file of vectors?", line=line)
            word += letter if letter != b"\n" else b""
        numbers = file.read(4 * dim)
        if len(numbers) < 4 * dim:
            _refuse_count(path, count, line - 1)
        name = word.decode(errors="replace")
        yield name, None if words is not None and name not in words else np.frombuffer(numbers, "<f4")
    if file.read(2) not in (b"", b"\n"):
        _refuse_count(path, count, count + 2)


def _refuse_count(path: Path, count: int, line: int) -> NoReturn:
    """Raise DataError for a file that ends too early or goes on at a line."""
    found = f"ends after {line - 1:,}" if line <= count + 1 else "goes on"
    raise DataError(
        path, f"the header says {count:,} words, and the file {found}", line=line, hint="cut short or damaged?"
    )


MAGIC = struct.pack("<i", 793712314)
VERSIONS = (11, 12)
BUCKETS = 2**31  # rows of a matrix
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


_Reader = Callable[[Path, IO[bytes], Collection[str] | None], VectorTable]
BINARY_FORMATS: dict[bytes, _Reader] = {MAGIC: read_fasttext}  # by the first bytes, behind which a file stands then
