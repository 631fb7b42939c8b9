"""Lines of a file or a pipe, as they arrive."""

import gzip
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, BinaryIO

from regard.data.readers.lines import C1, C1_HINT, encoding_hint
from regard.errors import DataError

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
