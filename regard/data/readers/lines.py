"""Lines of text files: UTF-8 without mercy, plain or gzip, split at "\\n" and nowhere else."""

import codecs
import gzip
import hashlib
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from regard.errors import DataError

LONGEST = 2**26  # bytes of a line; what is longer is no text, and would have to be held in memory
GZIP, UTF16 = b"\x1f\x8b", (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
FIRST_LATIN1 = 0xA0  # the first letter; Windows-1252 has quotes and dashes below it


def read_lines(path: Path) -> Generator[str, None, None]:
    """The lines without their "\\n" and the "\\r" before it; a byte order mark at the start is left out.

    Other characters that end lines elsewhere (U+2028, U+0085, form feed) are part of the text.
    """
    with told(path), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        yield from lines_in(file, path)


def lines_in(file: IO[bytes] | gzip.GzipFile, path: Path) -> Generator[str, None, None]:
    """The lines of an open file, as `read_lines` gives them; `path` is what faults call it."""
    number, offset = 0, 0
    for raw in iter(partial(file.readline, LONGEST), b""):
        number += 1
        if len(raw) == LONGEST:
            raise DataError(path, f"more than {LONGEST:,} bytes without an end of line", line=number)
        yield _decode(path, number, offset, raw)
        offset += len(raw)
    if not number:
        raise DataError(path, "the file is empty")


def digest(path: Path) -> bytes:
    """SHA-256 of a file's bytes, as they lie on disk."""
    with told(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def check(path: Path) -> None:
    """A DataError unless the path is a plain file."""
    if path.is_dir():
        raise DataError(path, "is a folder, a file is needed")
    if not path.exists():
        raise DataError(path, "there is no such file")
    if not path.is_file():
        raise DataError(path, "is no plain file", hint="data is read more than once: write it to a file first")


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Faults of reading as DataErrors."""
    try:
        check(path)
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(path, f"damaged gzip file: {error}") from error
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror or error}") from error


def _decode(path: Path, number: int, offset: int, raw: bytes) -> str:
    start = len(codecs.BOM_UTF8) if number == 1 and raw.startswith(codecs.BOM_UTF8) else 0
    end = len(raw) - raw.endswith(b"\n")
    if raw.endswith(b"\r", start, end):
        end -= 1
    try:
        return raw[start:end].decode("utf-8")
    except UnicodeDecodeError as error:
        place = start + error.start
        problem = f"not UTF-8: byte 0x{raw[place]:02x} at byte {offset + place:,} of the file, {place + 1} of the line"
        hint = (_likely(raw) if number == 1 else "") or _other_encoding(path, raw[place : place + 2], error.reason)
        raise DataError(path, problem, line=number, hint=hint) from error


def _likely(first: bytes) -> str:
    """What a file that starts like this may be."""
    if first.startswith(GZIP):
        return "this is a gzip file: its name must end with .gz"
    if first.startswith(UTF16):
        return "this looks like UTF-16: save it as UTF-8"
    return ""


def _other_encoding(path: Path, found: bytes, reason: str) -> str:
    """How to save as UTF-8 a file of one byte a letter; "" for a bad byte (and the next one) that look like none."""
    if found[1:] >= b"\x80" or reason == "unexpected end of data":
        return ""
    encoding = "windows-1252" if found[0] < FIRST_LATIN1 else "latin1"
    command = f"iconv -f {encoding} -t utf-8"
    example = f"gzip -dc {path} | {command}" if path.suffix == ".gz" else f"{command} {path}"
    return f"save it as UTF-8, for example: {example}"
