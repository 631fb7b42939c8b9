"""Tab-separated values: one example a line, no quoting."""

from pathlib import Path

from regard.data.readers.lines import read_lines
from regard.data.readers.reader import TableRows
from regard.data.readers.tables import NumberedRows, TableReader, usual_rows


class TsvReader(TableReader):
    """`fields` gives the field of each column, from 1; by default they are in order.

    Fields that a line lacks are empty. Raises DataError if the first line lacks one.
    """

    def key(self) -> str:
        return f"tsv {self._places} {self._header}"

    def rows(self) -> NumberedRows:
        return _rows(self.path)

    def lacking(self, problem: str) -> tuple[str, str]:
        return problem, "a tab between two fields"

    @classmethod
    def first_rows(cls, path: Path) -> TableRows:
        return usual_rows(lambda: (numbered for numbered in _rows(path) if numbered[1]))


def _rows(path: Path) -> NumberedRows:
    return ((number, line.split("\t") if line else []) for number, line in enumerate(read_lines(path), start=1))
