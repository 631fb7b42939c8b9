"""Tab-separated values: one example a line, no quoting."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.fields import FieldNumbers, FileName, field_places, too_few
from regard.data.readers.lines import read_lines
from regard.data.readers.reader import Reader
from regard.errors import DataError


class TsvReader(Reader):
    """`fields` says in which field, from 1, a column stands; by default they stand in order.

    Fields that a line lacks are empty. Raises DataError if the first line lacks one.
    """

    tells = "label"

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        fields: FieldNumbers = None,
        header: Annotated[bool, Doc("Leave out the first line.")] = False,
    ) -> None:
        self.columns = tuple(columns)
        self.files = (Path(file).expanduser(),)
        self._places = field_places(columns, fields)
        self._header = header

    def key(self) -> str:
        return f"tsv {self._places} {self._header}"

    def __iter__(self) -> Iterator[Example]:
        (path,) = self.files
        needed, found = max(self._places.values()) + 1, False
        for number, line in enumerate(read_lines(path), start=1):
            if self._header and number == 1:
                continue
            row = line.split("\t") if line else [""] * needed  # an empty line is an empty example
            if len(row) < needed:
                if not found:  # another format altogether
                    raise DataError(path, too_few(len(row), needed), line=number, hint="a tab between two fields")
                row += [""] * (needed - len(row))  # one bad line, which is left out as others with an empty side are
            found = True
            yield Example(number, {column: row[place] for column, place in self._places.items()})
