"""Comma-separated values with quotes, as spreadsheets write them."""

import csv
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.fields import FieldNumbers, FileName, field_places, too_few
from regard.data.readers.lines import LONGEST, read_lines
from regard.data.readers.reader import Reader
from regard.errors import DataError, PartError

DELIMITERS = ",;\t|"  # the likeliest first
SAMPLE = 200  # rows that tell the delimiter


class CsvReader(Reader):
    """`fields` says in which field, from 1, a column stands; by default they stand in order.

    Fields that a line lacks are empty; the first line must have all.
    A quoted field may hold the `delimiter`, doubled quotes and ends of lines. An example has its last line's number.
    """

    tells = "label"

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        fields: FieldNumbers = None,
        header: Annotated[bool, Doc("Leave out the first line.")] = False,
        delimiter: Annotated[
            str | None, Doc("Character between two fields; null: that of , ; | and tab which cuts most lines alike.")
        ] = None,
    ) -> None:
        if delimiter is not None and len(delimiter) != 1:
            raise PartError(f"is '{delimiter}'", "one character, such as ; or ,", setting="delimiter")
        self.columns, self._places = tuple(columns), field_places(columns, fields)
        self.files = (Path(file).expanduser(),)
        self._header, self._delimiter = header, delimiter

    def key(self) -> str:
        return f"csv {self._places} {self._header} {self._delimiter or found_delimiter(self.files[0])!r}"

    def __iter__(self) -> Iterator[Example]:
        (path,) = self.files
        needed, found = max(self._places.values()) + 1, False
        delimiter = self._delimiter or found_delimiter(path)
        for count, (line, row) in enumerate(csv_rows(path, delimiter)):
            if self._header and count == 0:
                continue
            cells = row or [""] * needed  # an empty line is an empty example
            if len(cells) < needed:
                if not found:  # another format altogether
                    problem = f"{too_few(len(cells), needed)}; read with the delimiter {delimiter!r}"
                    raise DataError(path, problem, line=line, hint=_other_delimiter(path))
                cells += [""] * (needed - len(cells))
            found = True
            yield Example(line, {column: " ".join(cells[place].split("\n")) for column, place in self._places.items()})


def csv_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row, with the number of its last line. Raises DataError for what is not CSV."""
    csv.field_size_limit(LONGEST)
    rows = csv.reader((f"{line}\n" for line in read_lines(path)), delimiter=delimiter, strict=True)
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:
        problem = f"not CSV with the delimiter {delimiter!r}: {error}"
        raise DataError(path, problem, line=rows.line_num, hint=_other_delimiter(path)) from error


def found_delimiter(path: Path) -> str:
    """Return the delimiter that cuts most of the first rows into one number of fields, two at least; "," for none.

    Between two that cut as many, it is the one with fewer spaces behind it: signs of prose are followed by a space.
    """
    evenness = {sign: _evenness(path, sign) for sign in DELIMITERS}
    return max(evenness, key=evenness.__getitem__)  # the first of equals


def _evenness(path: Path, delimiter: str) -> tuple[int, int]:
    """Count the first rows with the usual number of fields, and, below zero, the fields that open with a space."""
    try:
        rows = [row for _, row in islice(csv_rows(path, delimiter), SAMPLE) if row]
    except DataError:  # quotes that do not stand beside this delimiter
        return 0, 0
    ((usual, count),) = Counter(map(len, rows)).most_common(1) or [(0, 0)]
    if usual < 2:
        return 0, 0
    return count, -sum(cell.startswith(" ") for row in rows for cell in row[1:])


def _other_delimiter(path: Path) -> str:
    return f"name another: data.train={{name: csv, file: {path.name}, delimiter: '#'}}; or tabs, in a .tsv"
