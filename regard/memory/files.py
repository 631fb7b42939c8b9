"""Segments from files of translators, and memories as such files: TMX, XLIFF, and tables of pairs."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from regard.config import Choice
from regard.config.atomic_write import staged
from regard.data.readers import READERS
from regard.errors import ConfigError, DataError
from regard.memory.store import TranslationUnit
from regard.memory.xliff import printable, read_xliff, write_xliff_1, write_xliff_2
from regard.packed import open_packed, unpacked_name

_SIDES = ("source", "target")
_XLIFF = ("xlf", "xliff")
_KINDS = ("tmx", "xlf", "xliff", "tsv", "csv", "jsonl")


def read_units(path: Path, languages: tuple[str, str], *, everything: bool = False) -> Iterator[TranslationUnit]:
    """Yield the segments of a file, with its name as their origin, and the text before each.

    `everything`: of XLIFF also those that are neither translated nor approved.

    Raises DataError for a file that cannot be read, ConfigError for one of another kind.
    """
    kind = _kind(path)
    if not path.is_file():
        raise DataError(path, "there is no such file")
    plain = kind not in _XLIFF
    found = _examples(kind, path, languages) if plain else read_xliff(path, languages, everything=everything)
    before, pairs = "", 0
    for one in found:
        if one.source.strip():
            if one.target.strip():
                yield one._replace(before=before, origin=path.name)
                pairs += 1
            before = one.source
    if not pairs:
        hint = "" if plain or everything else "--all also takes segments that are neither translated nor approved"
        raise DataError(path, f"has no pair of {languages[0]} and {languages[1]}", hint=hint)


def _examples(kind: str, path: Path, languages: tuple[str, str]) -> Iterator[TranslationUnit]:
    """Yield the pairs that a reader of training data has."""
    settings = {"file": str(path), **({"languages": list(languages)} if kind == "tmx" else {})}
    for example in READERS.build(Choice(kind, settings), _SIDES, place=""):
        yield TranslationUnit(*(str(example.texts[side]) for side in _SIDES))


def write_units(path: Path, segments: Iterable[TranslationUnit], languages: tuple[str, str]) -> int:
    """Write a memory, whole or not at all; return the number of segments.

    Kinds are .tmx (1.4), .xlf (XLIFF 1.2), .xliff (XLIFF 2.0) and .tsv, a pair a line.

    Raises ConfigError for a file of another kind.
    """
    kind = _kind(path)
    if kind not in _WRITERS:
        raise ConfigError("FILE", f"'{path}' has an unknown ending", f"expected one of {', '.join(_WRITERS)}")
    with _written(path) as file:
        return _WRITERS[kind](file, segments, languages)


def _kind(path: Path) -> str:
    kind = Path(unpacked_name(path)).suffix.removeprefix(".").lower()
    if kind not in _KINDS:
        raise ConfigError("FILE", f"'{path}' has an unknown ending", f"expected one of .{', .'.join(_KINDS)}")
    return kind


@contextmanager
def _written(path: Path) -> Iterator[IO[bytes]]:
    made = staged(path)
    made = made.with_name(f"{made.name}{path.suffix}")  # its end says how it is packed
    try:
        with open_packed(made, "wb") as file:
            yield file
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


def _write_tmx(file: IO[bytes], segments: Iterable[TranslationUnit], languages: tuple[str, str]) -> int:
    """Dates of TMX are ISO 8601 in its basic form, in UTC."""
    codes, count = [quoteattr(code) for code in languages], 0
    file.write(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header creationtool="Regard" '
        f'creationtoolversion="1" segtype="sentence" o-tmf="Regard" adminlang="en" srclang={codes[0]} '
        f'datatype="plaintext"/><body>\n'.encode()
    )
    for count, one in enumerate(segments, start=1):  # noqa: B007  counted
        date = f"{one.created[:19].replace('-', '').replace(':', '')}Z"
        author = f" creationid={quoteattr(printable(one.author))}" if one.author else ""
        sides = "".join(
            f"<tuv xml:lang={code}><seg>{escape(printable(text))}</seg></tuv>"
            for code, text in zip(codes, (one.source, one.target), strict=True)
        )
        origin = f'<prop type="origin">{escape(printable(one.origin))}</prop>' if one.origin else ""
        file.write(f'<tu creationdate="{date}"{author}>{origin}{sides}</tu>\n'.encode())
    file.write(b"</body></tmx>\n")
    return count


def _write_tsv(file: IO[bytes], segments: Iterable[TranslationUnit], _: tuple[str, str]) -> int:
    """Texts hold neither tabs nor line ends: a memory keeps single spaces."""
    count = 0
    for count, one in enumerate(segments, start=1):  # noqa: B007  counted
        file.write(f"{one.source}\t{one.target}\n".encode())
    return count


_WRITERS: dict[str, Callable[[IO[bytes], Iterable[TranslationUnit], tuple[str, str]], int]] = {
    "tmx": _write_tmx,
    "xlf": write_xliff_1,
    "xliff": write_xliff_2,
    "tsv": _write_tsv,
}
