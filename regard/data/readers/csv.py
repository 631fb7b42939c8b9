"""Comma-separated values with quotes, as spreadsheets write them."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Size
from regard.data.examples import Example
from regard.data.readers.fields import field_places, too_few
from regard.data.readers.lines import LONGEST, read_lines
from regard.data.readers.reader import Reader
from regard.errors import DataError, PartError


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
        file: Annotated[str, Doc("File to read, plain or .gz.")],
        fields: Annotated[
            Mapping[str, Size] | None,
            Doc("Number of the field, from 1, of each column; null: in the order of the columns."),
        ] = None,
        header: Annotated[bool, Doc("Leave out the first line.")] = False,
        delimiter: str = ",",
    ) -> None:
        if len(delimiter) != 1:
            raise PartError(f"is '{delimiter}'", "one character, such as ; or ,", setting="delimiter")
        self.columns, self._places = tuple(columns), field_places(columns, fields)
        self.files = (Path(file).expanduser(),)
        self._header, self._delimiter = header, delimiter

    def key(self) -> str:
        return f"csv {self._places} {self._header} {self._delimiter!r}"

    def __iter__(self) -> Iterator[Example]:
        (path,) = self.files
        needed, found = max(self._places.values()) + 1, False
        for count, (line, row) in enumerate(csv_rows(path, self._delimiter)):
            if self._header and count == 0:
                continue
            cells = row or [""] * needed  # an empty line is an empty example
            if len(cells) < needed:
                if not found:  # another format altogether
                    hint = "is another sign the delimiter? ; or |"
                    raise DataError(path, too_few(len(cells), needed), line=line, hint=hint)
                cells += [""] * (needed - len(cells))
            found = True
            yield Example(line, {column: " ".join(cells[place].split("\n")) for column, place in self._places.items()})


def csv_rows(path: Path, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row, with the number of its last line. Raises DataError for what is not CSV."""
    csv.field_size_limit(LONGEST)
    rows = csv.reader((f"{line}\n" for line in read_lines(path)), delimiter=delimiter, strict=True)
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:
        hint = f"name another delimiter: data.train={{name: csv, file: {path.name}, delimiter: ';'}}; with tabs: .tsv"
        raise DataError(path, f"not CSV: {error}", line=rows.line_num, hint=hint) from error
