"""Lines of text files: strict UTF-8, plain or gzip, split at "\\n" alone."""

import codecs
import gzip
import hashlib
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO

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
    """Return the command that converts a file of another encoding to UTF-8; "" where it looks like damaged UTF-8.

    `found` are the bad byte and the next one, `reason` is the decoder's message, `data` are whole lines of the file.
    The encoding is utf-16 after its byte order mark, cp1252 where a byte from 0x80 to 0x9f, its quotes and dashes, is
    not UTF-8, else latin1.
    """
    decoded, wide = data.decode("utf-8", "surrogateescape"), data.startswith(UTF16)
    if not wide and (_CUT_LETTER.match(found) or reason == "unexpected end of data" or _LETTER.search(decoded)):
        return ""
    encoding = "utf-16" if wide else "cp1252" if _CP1252.search(decoded) else "latin1"
    command = f"iconv -f {encoding} -t utf-8"
    unpack = {".gz": f"gzip -dc {path} | ", ".zst": f"zstd -dc {path} | "}.get(Path(path).suffix)
    advice = f"save it as UTF-8, for example: {f'{unpack}{command}' if unpack else f'{command} {path}'}"
    return f"this looks like UTF-16: {advice}" if wide else advice


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
    return ""


READ_BYTES = 2**16  # bytes read at once from a file; a pipe gives what it has


def chunks_of_lines(stream: BinaryIO, name: str, warn: Callable[[str], None]) -> Iterator[list[str]]:
    """Yield lines as they arrive, split at "\\n" alone. Raises DataError, after the lines before, where not UTF-8.

    Warns at the first line with a C1 control character, which no text needs.
    """
    number, clean = 0, True
    for texts in chain.from_iterable(_texts(*some, name) for some in _whole_lines(stream, name)):
        found = next(((line, C1.search(text)) for line, text in enumerate(texts, number + 1) if C1.search(text)), None)
        if clean and found is not None and found[1] is not None:
            hint = C1_HINT.format(_file(name))
            warn(f"{name}:{found[0]}: holds the control character U+{ord(found[1][0]):04X} ({hint})")
            clean = False
        number += len(texts)
        yield texts


def _whole_lines(stream: BinaryIO, name: str) -> Iterator[tuple[list[bytes], int]]:
    """Yield lines as they arrive, with the number of lines before them."""
    rest, number = b"", 0
    for block in iter(lambda: _some(stream, name), b""):
        *whole, rest = (rest + block).split(b"\n")
        if whole:
            yield whole, number
            number += len(whole)
    if rest:
        yield [rest], number


def _some(stream: Any, name: str) -> bytes:
    try:
        block: bytes = stream.read1(READ_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(name, f"damaged gzip file: {error}") from error
    return block


def _texts(lines: list[bytes], before: int, name: str) -> Iterator[list[str]]:
    """Decode lines; `before` of them came earlier."""
    texts: list[str] = []
    for number, line in enumerate(lines, start=before + 1):
        text = line.removesuffix(b"\r")
        try:
            texts.append((text.removeprefix(BOM_UTF8) if number == 1 else text).decode("utf-8"))  # as in training
        except UnicodeDecodeError as error:
            if texts:
                yield texts
            found = text[error.start : error.start + 2]
            problem = f"byte 0x{found[0]:02x}, {error.start + 1} of the line, is not UTF-8"
            hint = encoding_hint(_file(name), found, error.reason, b"\n".join(lines))
            raise DataError(name, problem, line=number, hint=hint) from error
    yield texts


def _file(name: str) -> str:
    """Return the file's name in a command that repairs a stream."""
    return "FILE" if name == "stdin" else name
