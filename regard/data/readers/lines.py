"""Lines of text files: strict UTF-8, plain or gzip, split at "\\n" alone."""

import codecs
import gzip
import hashlib
import re
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

from regard.errors import DataError
from regard.packed import open_packed

LONGEST_LINE = 2**26  # bytes of a line; a longer one is not text and would fill memory
GZIP, UTF16 = b"\x1f\x8b", (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SAMPLE = 2**20  # bytes that an encoding is guessed from
C1 = re.compile("[\x80-\x9f]")  # control characters that no text needs: cp1252 has quotes and dashes there
_CP1252 = re.compile("[\udc80-\udc9f]")  # these bytes, where they are not UTF-8
_CUT_LETTER = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")  # how a letter of several bytes begins in UTF-8
_LETTER = re.compile("[^\x00-\x7f\udc80-\udcff\ufeff]")  # one of them that is whole: other lines are UTF-8
C1_HINT = "cp1252 that was read as latin1? iconv -f utf-8 -t latin1 {} | iconv -f cp1252 -t utf-8"


def read_lines(path: Path) -> Generator[str, None, None]:
    """Yield the lines without their "\\n" or "\\r\\n"; a byte order mark at the start is left out.

    Other characters that end lines elsewhere (U+2028, U+0085, form feed) are part of the text.
    """
    with reading_faults(path), open_packed(path) as file:
        yield from lines_in(file, path)


def lines_in(file: IO[bytes], path: Path) -> Generator[str, None, None]:
    """Yield the lines of an open file like `read_lines`; `path` is its name in errors."""
    number, offset = 0, 0
    for raw in iter(partial(file.readline, LONGEST_LINE), b""):
        number += 1
        if len(raw) == LONGEST_LINE:
            raise DataError(path, f"more than {LONGEST_LINE:,} bytes without an end of line", line=number)
        yield _decode(path, number, offset, raw)
        offset += len(raw)
    if not number:
        raise DataError(path, "the file is empty")


def digest(path: Path) -> bytes:
    """Return the SHA-256 of a file's bytes on disk."""
    with reading_faults(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def check(path: Path) -> None:
    """Raise DataError unless the path is a regular file."""
    if path.is_dir():
        raise DataError(path, "is a folder; expected a file")
    if not path.exists():
        raise DataError(path, "there is no such file")
    if not path.is_file():
        raise DataError(path, "is not a regular file", hint="data is read more than once: write it to a file first")


@contextmanager
def reading_faults(path: Path) -> Iterator[None]:
    """Turn errors of reading into DataErrors."""
    try:
        check(path)
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(path, f"damaged {'zst' if path.suffix == '.zst' else 'gzip'} file: {error}") from error
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror or error}") from error


def encoding_hint(path: Path | str, found: bytes, reason: str, data: bytes) -> str:
    """Return the command that converts a file of a one-byte encoding to UTF-8; "" where it looks like damaged UTF-8.

    `found` are the bad byte and the next one, `reason` is the decoder's message, `data` are whole lines of the file.
    The encoding is cp1252 where a byte from 0x80 to 0x9f, its quotes and dashes, is not UTF-8, else latin1.
    """
    decoded = data.decode("utf-8", "surrogateescape")
    if _CUT_LETTER.match(found) or reason == "unexpected end of data" or _LETTER.search(decoded):
        return ""
    encoding = "cp1252" if _CP1252.search(decoded) else "latin1"
    command = f"iconv -f {encoding} -t utf-8"
    unpack = {".gz": f"gzip -dc {path} | ", ".zst": f"zstd -dc {path} | "}.get(Path(path).suffix)
    return f"save it as UTF-8, for example: {f'{unpack}{command}' if unpack else f'{command} {path}'}"


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
        found = raw[place : place + 2]
        hint = (_likely(raw) if number == 1 else "") or encoding_hint(path, found, error.reason, _sample(path, raw))
        raise DataError(path, problem, line=number, hint=hint) from error


def _sample(path: Path, raw: bytes) -> bytes:
    """Return whole lines of a file, from this one on; that line alone where they cannot be read."""
    with suppress(OSError, EOFError, zlib.error), open_packed(path) as file:
        return raw + b"\n" + file.read(_SAMPLE).rpartition(b"\n")[0]
    return raw


def _likely(first: bytes) -> str:
    """Guess the kind of a file from its first bytes."""
    if first.startswith(GZIP):
        return "this is a gzip file: its name must end with .gz"
    if first.startswith(UTF16):
        return "this looks like UTF-16: save it as UTF-8"
    return ""
