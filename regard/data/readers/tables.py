"""Tables: rows of numbered fields, some of which are the columns of a task."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, NamedTuple

from regard.config import Doc
from regard.config.bounds import Size
from regard.data.examples import Example
from regard.data.readers.reader import FileName, FileReader, TableRows
from regard.errors import DataError, PartError, nearest

FIRST_ROWS = 100_000  # that fields are detected from: a table may be sorted by its labels
LISTED_LINES = LISTED_LABELS = 5  # that messages list

FieldNumbers = Annotated[
    Mapping[str, Size] | None,
    Doc("Field number of each column, from 1; null: in the order of the columns."),
]
NamedFields = Annotated[
    Mapping[str, Size | str] | None,
    Doc("Field number of each column, from 1, or its name in the header line; null: in the order of the columns."),
]
HasHeader = Annotated[bool, Doc("Skip the header line.")]
Fields = Mapping[str, Any]  # column → number of its field, from 1, or its name in JSON
NumberedRows = Iterator[tuple[int, list[str]]]  # the number of a row's last line, and its cells


class TableReader(FileReader):
    """A table whose rows give the fields of the columns.

    Missing fields of a row are empty, all those of an empty row too. Raises DataError if the first row lacks one. A
    field that has a name is found in the header.
    """

    answers = ("label", "labels", "number")

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        fields: NamedFields = None,
        header: HasHeader = False,
    ) -> None:
        super().__init__(columns, file)
        named = {column: field for column, field in (fields or {}).items() if isinstance(field, str)}
        numbers = {column: 1 if isinstance(field, str) else field for column, field in (fields or {}).items()}
        self._places: dict[str, int | str] = {**field_places(columns, numbers or None), **named}
        self._header = header or bool(named)

    @abstractmethod
    def rows(self) -> NumberedRows:
        """Yield the cells of each row, none for an empty one."""

    @abstractmethod
    def lacking(self, problem: str) -> tuple[str, str]:
        """Return the problem of a file whose first row lacks fields, and a hint."""

    def __iter__(self) -> Iterator[Example]:
        places, needed, found = dict[str, int](), 0, False
        for number, (line, row) in enumerate(self.rows()):
            if number == 0:
                places = {column: self._place(field, line, row) for column, field in self._places.items()}
                needed = max(places.values()) + 1
                if self._header:
                    continue
            cells = row or [""] * needed
            if len(cells) < needed:
                if not found:  # another format altogether
                    count = f"{len(cells)} field{'' if len(cells) == 1 else 's'}, {needed} are read"
                    problem, hint = self.lacking(count)
                    raise DataError(self.path, problem, line=line, hint=hint)
                cells += [""] * (needed - len(cells))  # a bad line, skipped like others with an empty side
            found = True
            yield Example(line, {column: " ".join(cells[place].split("\n")) for column, place in places.items()})

    def _place(self, field: int | str, line: int, first: Sequence[str]) -> int:
        """Return the place of a field, given the first row. Raises DataError for a name that it has not."""
        names = [cell.strip() for cell in first]
        if isinstance(field, str) and field not in names:
            raise DataError(self.path, f"the header has no '{field}'", line=line, hint=nearest(field, names))
        return field if isinstance(field, int) else names.index(field)


class TableLayout(NamedTuple):
    """Fields of the columns of a table."""

    fields: Fields
    header: bool  # the first line names the fields
    labels: tuple[str, ...]
    notes: tuple[str, ...] = ()  # for the user, such as lines that are left out

    def settings(self) -> dict[str, Any]:
        """Return the settings of the table's reader."""
        return {"fields": dict(self.fields), **({"header": True} if self.header else {})}

    def __str__(self) -> str:
        *texts, label = self.fields.items()
        places = ", ".join(f"{column} in field {field}" for column, field in texts)
        known = f"{label[0]} in field {label[1]}" + (f" ({listed_labels(self.labels)})" if self.labels else "")
        named = ", the first line names the fields" if self.header else ""
        return "; ".join([f"{known}, {places}{named}", *self.notes])


def listed_labels(labels: Sequence[str]) -> str:
    """Return the number of labels, and the first ones."""
    shown = ", ".join(f"'{one}'" if "," in one else one for one in labels[:LISTED_LABELS])
    return f"{len(labels)}: {shown}" + (" …" if len(labels) > LISTED_LABELS else "")


def field_places(columns: Sequence[str], fields: Mapping[str, int] | None) -> dict[str, int]:
    """Return the field of each column, from 0; `fields` counts from 1, None is in order.

    Raises PartError for other columns.
    """
    found = {column: number for number, column in enumerate(columns, start=1)} if fields is None else dict(fields)
    if set(found) != set(columns):
        wanted = ", ".join(columns)
        raise PartError(f"is {found}", f"expected a field number, from 1, for each of {wanted}", setting="fields")
    return {column: found[column] - 1 for column in columns}


def check_delimiter(delimiter: str | None, hint: str) -> None:
    """Raise PartError for a delimiter that is not one character."""
    if delimiter is not None and len(delimiter) != 1:
        raise PartError(f"is '{delimiter}'", hint, setting="delimiter")


def usual_rows(read: Callable[[], NumberedRows]) -> TableRows:
    """Return the first rows that have the most frequent number of cells, and notes on the others."""
    widths = {line: len(row) for line, row in islice(read(), FIRST_ROWS)}
    ((usual, _),) = Counter(widths.values()).most_common(1) or [(0, 0)]
    fewer = [line for line, width in widths.items() if width < usual]
    more = [line for line, width in widths.items() if width > usual]
    notes = (_lines(fewer, f"fewer fields than {usual}"), _lines(more, f"more fields than {usual}, which are not read"))
    rows = (row for _, row in islice(read(), FIRST_ROWS) if len(row) == usual)
    return TableRows((), rows, tuple(filter(None, notes)))


def _lines(lines: Sequence[int], problem: str) -> str:
    """Return a note on the lines that have a problem; "" for none."""
    shown = ", ".join(map(str, lines[:LISTED_LINES])) + (" …" if len(lines) > LISTED_LINES else "")
    if len(lines) == 1:
        return f"line {shown} has {problem}"
    return f"{len(lines):,} lines have {problem} (lines {shown})" if lines else ""
