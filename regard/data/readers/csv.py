"""Comma-separated values with quotes, as spreadsheets write them."""

import csv
import re
from collections import Counter
from contextlib import suppress
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Annotated

from regard.config import Doc
from regard.data.readers.lines import LONGEST_LINE, read_lines
from regard.data.readers.reader import FileName, TableRows
from regard.data.readers.tables import HasHeader, NamedFields, NumberedRows, TableReader, check_delimiter, usual_rows
from regard.errors import DataError

_DELIMITERS = ",;\t|"  # the likeliest first
_SAMPLE = 200  # rows that the delimiter is detected from


class CsvReader(TableReader):
    """`fields` gives the field of each column, from 1; by default they are in order.

    Fields that a line lacks are empty; the first line must have all.
    A quoted field may hold the `delimiter`, doubled quotes and line ends. An example has its last line's number.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        fields: NamedFields = None,
        header: HasHeader = False,
        delimiter: Annotated[
            str | None, Doc("Field delimiter; null: detected among comma, semicolon, bar and tab.")
        ] = None,
    ) -> None:
        check_delimiter(delimiter, "one character, such as ; or ,")
        super().__init__(columns, file=file, fields=fields, header=header)
        self._given = delimiter

    @property
    def _delimiter(self) -> str:
        return self._given or found_delimiter(self.path)

    def key(self) -> str:
        return f"csv {self._places} {self._header} {self._delimiter!r}"

    def rows(self) -> NumberedRows:
        return csv_rows(self.path, self._delimiter)

    def lacking(self, problem: str) -> tuple[str, str]:
        return f"{problem}; read with the delimiter {self._delimiter!r}", _other_delimiter(self.path)

    @classmethod
    def first_rows(cls, path: Path) -> TableRows:
        delimiter = found_delimiter(path)
        found = usual_rows(lambda: ((line, row) for line, row in csv_rows(path, delimiter) if row))
        note = () if delimiter == "," else (f"the delimiter is {delimiter!r}",)
        return found._replace(notes=(*note, *found.notes))


def csv_rows(path: Path, delimiter: str) -> NumberedRows:
    """Yield the cells of each row, with the number of its last line. Raises DataError for a line that is not CSV.

    A quote that does not end names the line in which it opens.
    """
    csv.field_size_limit(LONGEST_LINE)
    lines = chain((f"{line}\n" for line in read_lines(path)), [""])  # the last one marks the end of the file
    rows = csv.reader(takewhile(bool, lines), delimiter=delimiter, strict=True)
    before = 0
    try:
        for row in rows:
            yield rows.line_num, row
            before = rows.line_num
    except csv.Error as error:
        last = rows.line_num - (next(lines, None) is not None)  # the line before the fault, or all of the file
        opened = _open_quote(path, delimiter, before, last)
        if opened is not None:
            problem = f"the quote that opens in this line is not closed: {error} (line {rows.line_num})"
            hint = 'close it; a quote inside a quoted text is doubled: ""'
            raise DataError(path, problem, line=opened, hint=hint) from error
        problem = f"not CSV with the delimiter {delimiter!r}: {error}"
        raise DataError(path, problem, line=rows.line_num, hint=_other_delimiter(path)) from error


def _open_quote(path: Path, delimiter: str, before: int, last: int) -> int | None:
    """Return the line of the quote that is open at the end of line `last`; the row begins after line `before`."""
    opens, closes = re.compile(rf'(?:^|{re.escape(delimiter)})"'), re.compile(r'(?:[^"]|"")*+"')
    opened = None
    for number, line in enumerate(islice(read_lines(path), before, last), start=before + 1):
        found = closes.match(line) if opened else opens.search(line)
        while found:
            opened = None if opened else number
            found = closes.match(line, found.end()) if opened else opens.search(line, found.end())
    return opened


def found_delimiter(path: Path) -> str:
    """Return the delimiter that cuts most of the first rows into one number of fields, at least two; "," for none.

    Ties go to the delimiter with fewer spaces after it: punctuation of prose is followed by a space.
    """
    evenness = {sign: _evenness(path, sign) for sign in _DELIMITERS}
    return max(evenness, key=evenness.__getitem__)  # the first of equals


def _evenness(path: Path, delimiter: str) -> tuple[int, int]:
    """Count the first rows with the usual number of fields, and, below zero, the fields that open with a space."""
    rows = list[list[str]]()
    with suppress(DataError):  # quotes that are not beside this delimiter, or one that does not end
        rows += (row for _, row in islice(csv_rows(path, delimiter), _SAMPLE) if row)
    ((usual, count),) = Counter(map(len, rows)).most_common(1) or [(0, 0)]
    if usual < 2:
        return 0, 0
    return count, -sum(cell.startswith(" ") for row in rows for cell in row[1:])


def _other_delimiter(path: Path) -> str:
    return f"name another: data.train={{name: csv, file: {path.name}, delimiter: '#'}}; or tabs, in a .tsv"
