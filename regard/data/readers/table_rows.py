"""The first rows of a table, whatever its format: what tells which field holds what."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from regard.data.readers.csv import csv_rows, found_delimiter
from regard.data.readers.lines import read_lines
from regard.errors import DataError
from regard.text.clean import without_surrogates

FIRST_ROWS = 100_000  # that are read: a table may be sorted by its labels
SHOWN = 5  # lines that are told

Rows = Iterator[tuple[int, list[str]]]  # the number of a row's last line, and its cells


class TableRows(NamedTuple):
    """Rows of one number of cells."""

    names: tuple[str, ...]  # of the fields, where the format has them; () where the first row may hold them
    rows: Iterator[list[str]]
    notes: tuple[str, ...] = ()  # what a person should see: an unusual delimiter, lines that are left out


def table_rows(path: Path, kind: str) -> TableRows:
    """Return the first rows of a table for a `kind` of reader. Raises DataError for a file that is no such table."""
    return _KINDS[kind](path)


def _tab_separated(path: Path) -> TableRows:
    """Rows as TsvReader cuts them."""
    return _alike(lambda: ((number, line.split("\t")) for number, line in enumerate(read_lines(path), 1) if line))


def _comma_separated(path: Path) -> TableRows:
    """Rows as CsvReader cuts them."""
    delimiter = found_delimiter(path)
    found = _alike(lambda: ((line, row) for line, row in csv_rows(path, delimiter) if row))
    note = () if delimiter == "," else (f"the delimiter is {delimiter!r}",)
    return found._replace(notes=(*note, *found.notes))


def _objects(path: Path) -> TableRows:
    """The values of JSON objects, named by the first; what is no object is told by the reader."""

    def objects() -> Iterator[dict[str, Any]]:
        for line in islice(filter(str.strip, read_lines(path)), FIRST_ROWS):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                yield row

    names = tuple(next(objects(), {}))
    if not names:
        raise DataError(path, "holds no JSON object", hint="one object a line, no array around them")
    return TableRows(names, ([without_surrogates(str(row.get(name, ""))) for name in names] for row in objects()))


_KINDS: Mapping[str, Callable[[Path], TableRows]] = {
    "csv": _comma_separated,
    "jsonl": _objects,
    "tsv": _tab_separated,
}


def _alike(read: Callable[[], Rows]) -> TableRows:
    """The rows that have as many cells as most have, and words for the others."""
    widths = {line: len(row) for line, row in islice(read(), FIRST_ROWS)}
    ((usual, _),) = Counter(widths.values()).most_common(1) or [(0, 0)]
    fewer = [line for line, width in widths.items() if width < usual]
    more = [line for line, width in widths.items() if width > usual]
    notes = (_lines(fewer, f"fewer fields than {usual}"), _lines(more, f"more fields than {usual}, which are not read"))
    rows = (row for _, row in islice(read(), FIRST_ROWS) if len(row) == usual)
    return TableRows((), rows, tuple(filter(None, notes)))


def _lines(lines: Sequence[int], problem: str) -> str:
    """Say which lines have a problem; "" for none."""
    shown = ", ".join(map(str, lines[:SHOWN])) + (" …" if len(lines) > SHOWN else "")
    if len(lines) == 1:
        return f"line {shown} has {problem}"
    return f"{len(lines):,} lines have {problem} (lines {shown})" if lines else ""
