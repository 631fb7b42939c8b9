"""Segments from files of translators, and memories as such files: TMX, XLIFF 1.2 and 2, PO, and tables of pairs."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape, quoteattr

from regard.config import Choice
from regard.config.atomic_write import staged
from regard.data.readers import FILES_OF_PAIRS, READERS, reader_class
from regard.data.readers.lines import reading_faults
from regard.data.readers.po import read_po
from regard.data.readers.reader import TableRows
from regard.data.readers.xml_units import XLIFF_CODES, text_without, xml_units
from regard.errors import ConfigError, DataError
from regard.memory.store import TranslationUnit
from regard.packed import file_kind, open_packed
from regard.text.column_names import column_names, names_line

MT_SUGGESTION, EXACT_MATCH = "mt-suggestion", "exact-match"  # state-qualifier of 1.2; subState of 2, after a prefix
_DONE = frozenset(("translated", "reviewed", "final", "signed-off"))  # states of 1.2 and 2
_UNSURE = frozenset(("mt", "fuzzy", "suggestion"))  # parts of a state-qualifier: the target is a guess


def read_xliff(path: Path, languages: tuple[str, str]) -> Iterator[tuple[TranslationUnit, bool]]:
    """Yield the segments of these languages, and whether each is done; inline elements are left out, their text stays.

    Done are those without a state, and translated, reviewed, final and approved ones. Raises DataError for a file that
    is damaged, too large or declares entities.
    """
    head, pair = ("", ""), ("", "")
    with reading_faults(path), open_packed(path) as file:
        for _, one in xml_units(file, path, ("trans-unit", "unit"), "XLIFF", heads=("xliff", "file")):
            if one.tag == "xliff":
                head = pair = (one.get("srcLang", ""), one.get("trgLang", ""))
            elif one.tag == "file":
                pair = (one.get("source-language", head[0]), one.get("target-language", head[1]))
            elif all(map(_includes, languages, pair)) and one.get("translate") != "no":
                segments = _segments(one) if one.tag == "unit" else _segments_of_trans_unit(one)
                yield from ((TranslationUnit(*texts), done) for *texts, done in segments)


def _includes(wanted: str, found: str) -> bool:
    """Return True for the same language, a regional variant of it, and where none is named."""
    wanted, found = wanted.lower(), found.lower().replace("_", "-")
    return not found or found == wanted or found.startswith(f"{wanted}-")


def _segments(unit: Element) -> Iterator[tuple[str, str, bool]]:
    """Yield source, target and whether it is done, of XLIFF 2."""
    for segment in unit.iter("segment"):
        state, unsure = segment.get("state", "final"), _is_unsure(segment.get("subState", "").rpartition(":")[2])
        done = state in _DONE and not (unsure and state == "translated")
        yield _text(segment.find("source")), _text(segment.find("target")), done


def _segments_of_trans_unit(unit: Element) -> Iterator[tuple[str, str, bool]]:
    """Yield source, target and whether it is done, of XLIFF 1.2; a unit may be cut into segments."""
    target, approved = unit.find("target"), unit.get("approved", "")
    if target is None:
        return
    state, unsure = target.get("state", ""), _is_unsure(target.get("state-qualifier", ""))
    done = approved == "yes" or (state in _DONE and not unsure) or not (approved or state or unsure)
    sources, targets = _cut(unit.find("seg-source")), _cut(target)
    if sources and sources.keys() == targets.keys():
        yield from ((_text(sources[name]), _text(targets[name]), done) for name in sources)
    else:
        yield _text(unit.find("source")), _text(target), done


def _is_unsure(qualifier: str) -> bool:
    """Return whether a target is machine translation or the translation of a similar text."""
    return not _UNSURE.isdisjoint(qualifier.split("-"))


def _cut(element: Element | None) -> dict[str, Element]:
    """Return the segments of a text by their numbers."""
    marks = [] if element is None else element.iter("mrk")
    return {mark.get("mid", ""): mark for mark in marks if mark.get("mtype") == "seg"}


def _text(element: Element | None) -> str:
    return "" if element is None else text_without(element, XLIFF_CODES)


def write_xliff_1(file: IO[bytes], segments: Iterable[TranslationUnit], languages: tuple[str, str]) -> int:
    """Write XLIFF 1.2 with approved units; return their number."""
    codes = f"source-language={quoteattr(languages[0])} target-language={quoteattr(languages[1])}"
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
        f'<file original="memory" datatype="plaintext" {codes}><body>\n'
    )
    unit = '<trans-unit id="{0}" approved="yes"><source>{1}</source><target state="final">{2}</target></trans-unit>\n'
    return _write(file, segments, head, unit, "</body></file></xliff>\n")


def write_xliff_2(file: IO[bytes], segments: Iterable[TranslationUnit], languages: tuple[str, str]) -> int:
    """Write XLIFF 2.0 with final segments; return their number."""
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" '
        f'srcLang={quoteattr(languages[0])} trgLang={quoteattr(languages[1])}><file id="memory">\n'
    )
    unit = '<unit id="{0}"><segment state="final"><source>{1}</source><target>{2}</target></segment></unit>\n'
    return _write(file, segments, head, unit, "</file></xliff>\n")


def _write(file: IO[bytes], segments: Iterable[TranslationUnit], head: str, unit: str, end: str) -> int:
    count = 0
    file.write(head.encode())
    for count, one in enumerate(segments, start=1):
        file.write(unit.format(count, escape(printable(one.source)), escape(printable(one.target))).encode())
    file.write(end.encode())
    return count


def printable(text: str) -> str:
    """Return a text without the characters that XML 1.0 excludes."""
    return "".join(sign for sign in text if (sign >= " " or sign in "\t\n") and sign not in "\ufffe\uffff")


_SIDES = ("source", "target")
_XLIFF = ("xlf", "xliff")
_TABLES = ("tsv", "csv")
_KINDS = (*FILES_OF_PAIRS, *_XLIFF)


def read_units(
    path: Path,
    languages: tuple[str, str],
    *,
    everything: bool = False,
    columns: tuple[int, int] | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Iterator[TranslationUnit]:
    """Yield the segments of a file, with its name as their origin, and the text before each.

    Args:
        path: The file.
        languages: Codes of source and target.
        everything: Also segments of XLIFF that are neither translated nor approved, and fuzzy ones of PO.
        columns: Of a table: the columns of source and target, from 1; None: it has two.
        say: Reports what is left out, and lines with other numbers of columns.

    Raises DataError for a file that cannot be read and for a table of several columns, ConfigError for another kind.
    """
    kind = _kind(path, _KINDS)
    if not path.is_file():
        raise DataError(path, "there is no such file")
    before, pairs, empty, open_ones = "", 0, 0, 0
    for one, done in _segments_of(kind, path, languages, columns, say):
        if not (done or everything):
            open_ones += bool(one.target.strip())
        elif one.source.strip():
            if one.target.strip():
                yield one._replace(before=before, origin=path.name)
                pairs += 1
            before, empty = one.source, empty + (not one.target.strip())
    if not pairs:
        hint = "--all also takes segments that are neither translated nor approved" if open_ones else ""
        raise DataError(path, f"has no pair of {languages[0]} and {languages[1]}", hint=hint)
    if empty:
        say(f"{path}: left out, without a translation: {empty:,}")
    if open_ones:
        say(f"{path}: left out, neither translated nor approved: {open_ones:,} (--all takes them)")


def _segments_of(
    kind: str, path: Path, languages: tuple[str, str], columns: tuple[int, int] | None, say: Callable[[str], None]
) -> Iterator[tuple[TranslationUnit, bool]]:
    """Yield the segments of a file, and whether each is done."""
    if kind in _XLIFF:
        yield from read_xliff(path, languages)
    elif kind == "po":
        for _, source, target, fuzzy in read_po(path, languages):
            yield TranslationUnit(source, target), not fuzzy
    else:
        yield from ((one, True) for one in _examples(kind, path, languages, columns, say))


def _examples(
    kind: str, path: Path, languages: tuple[str, str], columns: tuple[int, int] | None, say: Callable[[str], None]
) -> Iterator[TranslationUnit]:
    """Yield the pairs that a reader of training data has."""
    settings: dict[str, Any] = {"file": str(path), **({"languages": list(languages)} if kind == "tmx" else {})}
    if kind in _TABLES:
        table = reader_class(kind).first_rows(path) or TableRows((), iter(()))
        if columns is not None:
            settings["fields"] = dict(zip(_SIDES, columns, strict=True))
        elif (width := len(next(table.rows, ()))) > len(_SIDES):
            raise DataError(path, f"has {width} columns", hint="--columns 1 2: the numbers of source and target")
        for note in table.notes:
            say(f"{path}: {note}")
    reader = READERS.build(Choice(kind, settings), _SIDES, place="")
    pairs = ([str(example.texts[side]) for side in _SIDES] for example in reader)
    names = column_names(pairs) if "header" in READERS.settings(kind) else None
    if names:
        say(names_line(path, names))
    for example in islice(reader, 1 if names else 0, None):
        yield TranslationUnit(*(str(example.texts[side]) for side in _SIDES))


def write_units(path: Path, segments: Iterable[TranslationUnit], languages: tuple[str, str]) -> int:
    """Write a memory, whole or not at all; return the number of segments.

    Kinds are .tmx (1.4), .xlf (XLIFF 1.2), .xliff (XLIFF 2.0) and .tsv, a pair a line.

    Raises ConfigError for a file of another kind.
    """
    kind = _kind(path, _WRITERS)
    with _written(path) as file:
        return _WRITERS[kind](file, segments, languages)


def _kind(path: Path, kinds: Iterable[str]) -> str:
    """Return the ending of a file. Raises ConfigError where it is none of `kinds`."""
    kind = file_kind(path)
    if kind not in kinds:
        raise ConfigError("FILE", f"'{path}' has an unknown ending", f"expected one of .{', .'.join(kinds)}")
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
