"""Formats of glossaries: lines with tabs, equals signs or arrows, CSV, and TBX (ISO 30042)."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import NamedTuple

from regard.data.readers.lines import C1, C1_HINT
from regard.data.readers.xml_units import element_language, xml_units
from regard.errors import DataError

LINE_FORMAT = "source TAB target, or source = target, or CSV; source TAB target|other target; a source alone is copied"
HEADERS = frozenset(["source", "target", "term", "translation", "translations", "source term", "target term"])
EQUALS = re.compile(r"(?<!\s)(?:\s+(?:=|→|⇒|->|=>)\s+|\s*[→⇒]\s*)")  # once at each run of spaces
TIGHT = re.compile(r"(?<!\s)\s*=\s*")
DELIMITERS = ",;"
_OTHER_SIGN = re.compile(r"[=→⇒|;]|->|:\s|\s[-–—:]\s|(?<=[^\W\d]),(?=[^\W\d])")  # of a line in another format
TAB, _SIGN = "\t", "="
MOST_TERMS = 200  # of a concept in TBX, in one language, and translations of a term in all concepts
TBX_UNITS = ("termEntry", "conceptEntry")  # of TBX 2 and 3
_TBX = re.compile(r"\ufeff?\s*+<(?:\?xml|!DOCTYPE|!--|tbx|martif)[^\t\r\n]*+(?!\t)", re.IGNORECASE)
_ENCODING = re.compile(r"""(<\?xml[^>]*?)\s+encoding\s*=\s*(?:'[^']*'|"[^"]*")""")
_HEAD = 200  # characters that hold the declaration

LanguagePair = tuple[str | None, str | None]  # codes of source and target, where they are known


class TermRow(NamedTuple):
    """A term and its translations, at a line from 1."""

    line: int
    source: str
    targets: tuple[str, ...]


def is_tbx(text: str) -> bool:
    """Return whether a glossary is TBX rather than lines, of which the first would have a tab."""
    return _TBX.match(text) is not None


def glossary_rows(text: str, name: str, languages: LanguagePair = (None, None)) -> Iterator[TermRow]:
    """Yield the terms of a glossary, whatever its format. Raises DataError with the line that is wrong.

    `languages` choose two of a TBX file, and distinguish a first line that names them from a term.
    """
    if is_tbx(text):
        yield from _tbx_rows(text, name, languages)
        return
    lines = re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
    first = True
    for line, columns in _cut(lines, name):
        if len(columns) > 2:
            raise DataError(name, f"{len(columns)} columns, and a glossary has two", line=line, hint=LINE_FORMAT)
        if len(columns) == 1 and (sign := _OTHER_SIGN.search(columns[0])):
            problem = f"'{columns[0]:.60}': '{sign[0].strip()}' does not separate a term from its translation here"
            raise DataError(name, problem, line=line, hint="source TAB target; to copy the whole: the text TAB itself")
        if not (first and len(columns) == 2 and _names_columns(columns, languages)):
            yield _row(columns, name, line)
        first = False


def _cut(lines: Sequence[str], name: str) -> Iterator[tuple[int, list[str]]]:
    """The columns of each line that has any, cut as the format of all of them is."""
    filled = {number: line for number, line in enumerate(lines, start=1) if line.strip()}
    sign = _format(filled, name)
    if sign and sign in DELIMITERS:
        yield from _csv_rows(filled, sign, name)
        return
    for number, line in filled.items():
        columns = line.split(TAB) if sign == TAB else _at_equals(line) if sign == _SIGN else [line]
        yield number, [column.strip() for column in columns]


def _at_equals(line: str) -> list[str]:
    return (EQUALS if EQUALS.search(line) else TIGHT).split(line)


def _format(lines: Mapping[int, str], name: str) -> str:
    """Return the tab, "=", "," or ";" that cuts the lines; "" for terms alone. Raises DataError for what is unclear."""
    if any(TAB in line for line in lines.values()):
        return TAB
    if any(EQUALS.search(line) for line in lines.values()):
        return _SIGN
    tight = [number for number, line in lines.items() if _SIGN in line]
    if tight and len(tight) == len(lines):
        return _SIGN
    if tight:
        problem = f"'{lines[tight[0]]:.60}' is a term to copy or a term with its translation: other lines have no '='"
        raise DataError(name, problem, line=tight[0], hint="source TAB target, or spaces around the '='")
    found = [sign for sign in DELIMITERS if lines and all(sign in line for line in lines.values())]
    if len(found) > 1:
        even = [sign for sign in found if all(line.count(sign) == 1 for line in lines.values())]
        if len(even) != 1:
            problem = "each line has a comma and a semicolon, and either may part source and target"
            raise DataError(name, problem, line=min(lines), hint=LINE_FORMAT)
        return even[0]
    return next(iter(found), "")


def _csv_rows(lines: Mapping[int, str], delimiter: str, name: str) -> Iterator[tuple[int, list[str]]]:
    numbers = list(lines)
    rows = csv.reader(lines.values(), delimiter=delimiter, strict=True, skipinitialspace=True)
    before = 0
    try:
        for row in rows:
            if rows.line_num > before + 1:
                raise csv.Error("a term that goes on in the next line")
            yield numbers[before], [column.strip() for column in row]
            before = rows.line_num
    except csv.Error as error:
        line = numbers[min(before, len(numbers) - 1)]
        raise DataError(
            name, f"is not CSV with '{delimiter}': {error}", line=line, hint="a quote that is not closed?"
        ) from error


def _names_columns(columns: Sequence[str], languages: LanguagePair) -> bool:
    """Return whether a line says what the columns are: names of them, or the codes of both languages."""
    codes = tuple(code.casefold() for code in languages if code)
    cells = tuple(column.casefold().replace("_", " ") for column in columns)
    return set(cells) <= HEADERS or (len(codes) == 2 and cells == codes)


def _row(columns: Sequence[str], name: str, line: int) -> TermRow:
    """Raises DataError for columns without a text."""
    source = columns[0]
    targets = [one.strip() for one in columns[-1].split("|")] if len(columns) > 1 else [source]
    for side, texts in (("source", [source]), ("target", targets)):
        if not all(texts):
            raise DataError(name, f"the {side} is empty", line=line, hint=LINE_FORMAT)
    _check_characters([source, *targets], name, line)
    return TermRow(line, source, tuple(dict.fromkeys(targets)))


def _check_characters(texts: Sequence[str], name: str, line: int) -> None:
    """Raise DataError for control characters."""
    for text in texts:
        if (control := C1.search(text)) is not None:
            hint = C1_HINT.format("FILE" if name == "glossary" else name)
            raise DataError(name, f"holds the control character U+{ord(control[0]):04X}", line=line, hint=hint)
        if any(character < " " or character == "\x7f" for character in text):
            raise DataError(name, "holds signs that cannot be written: this is not a text", line=line, hint=LINE_FORMAT)


def _tbx_rows(text: str, name: str, languages: LanguagePair) -> Iterator[TermRow]:
    """The terms of concepts that have both languages; several of one language are alternatives."""
    encoded = (_ENCODING.sub(r"\1", text[:_HEAD], count=1) + text[_HEAD:]).encode()
    concepts = []
    for line, unit in xml_units(BytesIO(encoded), name, TBX_UNITS, "TBX"):
        terms = dict[str, list[str]]()
        for section in unit.iter():
            if section.tag in ("langSet", "langSec") and element_language(section):
                found = (" ".join("".join(term.itertext()).split()) for term in section.iter("term"))
                terms.setdefault(element_language(section), []).extend(filter(None, found))
        concepts.append((line, terms))
    source, target = _tbx_pair([*dict.fromkeys(code for _, terms in concepts for code in terms)], name, languages)
    known = dict[str, TermRow]()  # a term of several concepts has the translations of all
    for line, terms in concepts:
        sources, targets = (
            [term for code, some in terms.items() if _is_kind(code, one) for term in some] for one in (source, target)
        )
        _check_characters([*sources, *targets], name, line)
        _check_count(max(len(sources), len(targets)), name, line)
        for term in sources if targets else ():
            first = known.get(term, TermRow(line, term, ()))
            known[term] = first._replace(targets=tuple(dict.fromkeys([*first.targets, *targets])))
            _check_count(len(known[term].targets), name, line)
    yield from known.values()


def _check_count(count: int, name: str, line: int) -> None:
    """Raise DataError for more terms than a concept may have: each of the source gets all of the target."""
    if count > MOST_TERMS:
        problem = f"{count:,} terms of one concept in a language, more than the {MOST_TERMS} that are read"
        raise DataError(name, problem, line=line, hint="keep the likeliest")


def _tbx_pair(found: Sequence[str], name: str, languages: LanguagePair) -> tuple[str, str]:
    """Source and target in a TBX file, the first two where they are not known. Raises DataError where it lacks them."""
    source, target = (None if code is None else code.lower() for code in languages)
    if source is None or target is None:
        if len(found) < 2:
            raise DataError(name, f"has terms in {len(found)} languages ({', '.join(found)}), and needed are two")
        return found[0], found[1]
    for wanted in (source, target):
        if not any(_is_kind(code, wanted) for code in found):
            hint = f"its languages are {', '.join(found[:5]) or 'none'}"
            raise DataError(name, f"has no terms in '{wanted}'", hint=hint)
    return source, target


def _is_kind(code: str, wanted: str) -> bool:
    """Return whether a code is that of a language or of a kind of it, as en-GB is of en."""
    return code == wanted or code.startswith(f"{wanted}-")
