"""word2vec's files of vectors, text and binary: a line `words dim`, then each word with its numbers.

A file whose name ends in .gz is compressed. Whether one that is read is text or binary is told by its first word.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.text.vector_table import VectorTable

Row = tuple[str, NDArray[np.float32]]

LONGEST = 4096  # bytes of a word or of the header
WIDEST = 1_000_000  # numbers of a vector
HEADER = "the first line tells how many words there are and how many numbers each has, as in '20000 300'"


def read_word2vec(path: Path, *, wanted: Callable[[str], bool] = lambda word: True) -> VectorTable:
    """Return the words that are wanted and their vectors; of a word that comes twice the first.

    Raises DataError for a file that cannot be read, a wrong header, a row that is too short or too long, and a vector
    with a number that is none, with the line (in a binary file the row, that of the header being 1).
    """
    try:
        with _opened(path, "rb") as file:
            count, dim = _header(path, file.readline(LONGEST))
            start = file.tell()
            rows = _text_rows if _is_text(file.readline()) else _binary_rows
            file.seek(start)
            kept = dict[str, NDArray[np.float32]]()
            for line, (word, vector) in enumerate(rows(path, file, count, dim), start=2):
                if not np.isfinite(vector).all():
                    raise DataError(
                        path, f"the vector of '{word:.60}' has a number that is infinite or none", line=line
                    )
                if word not in kept and wanted(word):
                    kept[word] = vector
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return VectorTable(list(kept), np.array(list(kept.values()), np.float32).reshape(len(kept), dim))


def write_word2vec(path: Path, table: VectorTable, *, binary: bool = False) -> None:
    """Write a table. Raises DataError for a word with a space in it, which the format cannot tell from two words."""
    broken = next((word for word in table.words if not word or any(map(str.isspace, word))), None)
    if broken is not None:
        raise DataError(
            path, f"the word '{broken:.60}' is empty or has a space in it", hint="the format has no such words"
        )
    with _opened(path, "wb") as file:
        file.write(f"{len(table)} {table.vectors.shape[1]}\n".encode())
        for word, vector in table:
            numbers = vector.astype("<f4").tobytes() if binary else " ".join(map(_shortest, vector)).encode()
            file.write(word.encode() + b" " + numbers + b"\n")


def _shortest(number: np.float32) -> str:
    return np.format_float_positional(number, trim="-")


def _opened(path: Path, mode: str) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, mode) if path.suffix == ".gz" else path.open(mode))


def _header(path: Path, line: bytes) -> tuple[int, int]:
    fields = line.decode(errors="replace").split()
    if len(fields) != 2 or not all(
        field.isascii() and field.isdigit() and len(field) < 20 and int(field) for field in fields
    ):
        found = line.decode(errors="replace").strip()
        raise DataError(path, f"is no file of vectors: it begins with '{found:.40}'", line=1, hint=HEADER)
    count, dim = map(int, fields)
    if dim > WIDEST:
        raise DataError(path, f"the header says {fields[1]:.40} numbers for each word", line=1, hint=HEADER)
    return count, dim


def _is_text(line: bytes) -> bool:
    """Whether the line behind the header is a word and numbers in digits."""
    try:
        _, *fields = line.decode().rstrip().split(" ")
        return bool(fields) and all(map(_is_number, fields))
    except UnicodeDecodeError:
        return False


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _text_rows(path: Path, file: IO[bytes], count: int, dim: int) -> Iterator[Row]:
    """Words and vectors of a text file."""
    line = 1
    for line, row in enumerate(file, start=2):
        word, *fields = row.decode(errors="replace").rstrip().split(" ")
        if line > count + 1:
            _refuse_count(path, count, line)
        if len(fields) != dim:
            raise DataError(path, f"'{word:.60}' has {len(fields)} numbers and the header says {dim}", line=line)
        try:
            vector = np.array(fields, np.float32)
        except ValueError:
            wrong = next(field for field in fields if not _is_number(field))
            raise DataError(path, f"'{wrong:.60}' is no number", line=line) from None
        yield word, vector
    if line < count + 1:
        _refuse_count(path, count, line)


def _binary_rows(path: Path, file: IO[bytes], count: int, dim: int) -> Iterator[Row]:
    """Words and vectors of a binary file; a line end before a word is no part of it."""
    for line in range(2, count + 2):
        word = bytearray()
        while (letter := file.read(1)) not in (b" ", b""):
            if len(word) > LONGEST:
                raise DataError(path, "has a word that does not end: is this a file of vectors?", line=line)
            word += letter if letter != b"\n" else b""
        numbers = file.read(4 * dim)
        if len(numbers) < 4 * dim:
            _refuse_count(path, count, line - 1)
        yield word.decode(errors="replace"), np.frombuffer(numbers, "<f4")
    if file.read(2) not in (b"", b"\n"):
        _refuse_count(path, count, count + 2)


def _refuse_count(path: Path, count: int, line: int) -> NoReturn:
    """Raise DataError for a file that ends too early or goes on at a line."""
    found = f"ends after {line - 1:,}" if line <= count + 1 else "goes on"
    raise DataError(
        path, f"the header says {count:,} words, and the file {found}", line=line, hint="cut short or damaged?"
    )
