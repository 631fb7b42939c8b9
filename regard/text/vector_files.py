"""Files of word vectors, whichever program wrote them: word2vec, GloVe, fastText.

word2vec's have a line `words dim`, then each word with its numbers, as text or binary. fastText's .vec is such a text;
GloVe's lack the first line. A file whose name ends in .gz is compressed.
"""

import zlib
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, NoReturn

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.packed import open_packed
from regard.text.fasttext_format import MAGIC, read_fasttext
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


_Reader = Callable[[Path, IO[bytes], Collection[str] | None], VectorTable]
BINARY_FORMATS: dict[bytes, _Reader] = {MAGIC: read_fasttext}  # by the first bytes, behind which a file stands then
