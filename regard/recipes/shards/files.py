"""Texts of files, row by row, and the same files with an answer for each row: lines, .jsonl, .parquet."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from regard.data.readers.lines import read_lines, reading_faults
from regard.errors import ConfigError, DataError
from regard.packed import open_packed, unpacked_name
from regard.text.clean import without_surrogates

PREDICTION = "prediction"  # the column that a table gains
_USUAL = ("source", "text")  # columns of texts, where none is named
_ROWS_AT_ONCE = 4096  # of a .parquet file


class RowFile(ABC):
    """A file of texts. Every row has an answer, and answers are in the order of the rows."""

    def __init__(self, path: Path, column: str | None, *, as_json: bool = False) -> None:
        """`column` names the texts of a table; None: `source`, else `text`. `as_json`: answers are JSON objects."""
        self.path, self.column, self.as_json = path, column, as_json

    @abstractmethod
    def texts(self) -> Iterator[str]:
        """Return the texts. Raises DataError for a row that cannot be read."""

    @abstractmethod
    def write(self, target: Path, answers: Iterator[str]) -> int:
        """Write the file with its answers and return the number of rows; one answer is taken for each row."""

    @property
    def result(self) -> str:
        """The name of the file with the answers."""
        return self.path.name

    def _usual(self, names: list[str], line: int | None = None) -> str:
        """Return the column of the texts. Raises DataError where a row or table lacks it."""
        found = next((name for name in _USUAL if name in names), None) if self.column is None else self.column
        if found is None or found not in names:
            wanted = f"column '{found}'" if found else "column 'source' or 'text'"
            raise DataError(self.path, f"has no {wanted}", line=line, hint=f"--column: {', '.join(names)}")
        return found


class Lines(RowFile):
    """One text per line, plain or compressed."""

    def texts(self) -> Iterator[str]:
        return read_lines(self.path)

    def write(self, target: Path, answers: Iterator[str]) -> int:
        rows = 0
        with open_packed(target, "wb") as file:
            for rows, answer in enumerate(answers, start=1):  # noqa: B007  counted
                file.write(f"{answer}\n".encode())
        return rows

    @property
    def result(self) -> str:
        name = unpacked_name(self.path.name)
        return f"{name}.jsonl{self.path.name.removeprefix(name)}" if self.as_json else self.path.name


class JsonLines(RowFile):
    """One JSON object per line, plain or compressed."""

    def texts(self) -> Iterator[str]:
        for line, row in self._rows():
            text = row[self._usual([*row], line)]
            if not isinstance(text, str):
                raise DataError(self.path, f"the text is {json.dumps(text)[:40]}; expected a string", line=line)
            yield without_surrogates(text)

    def write(self, target: Path, answers: Iterator[str]) -> int:
        rows = 0
        with open_packed(target, "wb") as file:
            for (rows, row), answer in zip(self._rows(), answers, strict=False):  # noqa: B007  counted
                row[PREDICTION] = json.loads(answer) if self.as_json else answer
                file.write(f"{json.dumps(row, ensure_ascii=False)}\n".encode(errors="backslashreplace"))
        return rows

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, text in enumerate(read_lines(self.path), start=1):
            try:
                row = json.loads(text)
            except ValueError as error:
                raise DataError(self.path, f"is not JSON: {error}", line=line) from error
            if not isinstance(row, dict):
                raise DataError(self.path, "is not a JSON object; expected {...} on each line", line=line)
            yield line, row


class Parquet(RowFile):
    """A Parquet table."""

    def texts(self) -> Iterator[str]:
        rows = 0
        with reading_faults(self.path):
            table = _table(self.path)
            column = self._usual(table.schema_arrow.names)
            for batch in table.iter_batches(_ROWS_AT_ONCE, columns=[column]):
                for row, text in enumerate(batch.column(0).to_pylist(), start=rows + 1):
                    if not isinstance(text, str):
                        raise DataError(self.path, f"the text is {text!r:.40}; expected a string", line=row)
                    yield text
                rows += batch.num_rows

    def write(self, target: Path, answers: Iterator[str]) -> int:
        table, rows = _table(self.path), 0
        import pyarrow

        given = table.schema_arrow
        kept = [place for place, name in enumerate(given.names) if name != PREDICTION]  # an older one is replaced
        fields = [*(given.field(place) for place in kept), pyarrow.field(PREDICTION, pyarrow.string())]
        schema = pyarrow.schema(fields, given.metadata)
        with pyarrow.parquet.ParquetWriter(target, schema) as file:
            for batch in table.iter_batches(_ROWS_AT_ONCE):
                found = [*islice(answers, batch.num_rows)]
                rows += len(found)
                if len(found) < batch.num_rows:
                    break
                columns = [*(batch.column(place) for place in kept), pyarrow.array(found, pyarrow.string())]
                file.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))
        return rows


def row_file(path: Path, column: str | None, *, as_json: bool) -> RowFile:
    """Return a file by its kind. Raises ConfigError for the column of a file that has none."""
    kind = {".jsonl": JsonLines, ".parquet": Parquet}.get(Path(unpacked_name(path)).suffix, Lines)
    if column is not None and kind is Lines:
        raise ConfigError("--column", f"'{path}' has lines, not columns", "leave it out")
    return kind(path, column, as_json=as_json)


def count_rows(file: RowFile) -> int:
    """Read and count all rows. Raises DataError where there is none."""
    rows = file.texts()
    first = next(rows, None)
    if first is None:
        raise DataError(file.path, "there are no rows")
    return sum(1 for _ in chain([first], rows))


def _table(path: Path) -> Any:
    """Return an opened Parquet file."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise DataError(path, "reading .parquet needs pyarrow", hint="pip install -e '.[bulk]'") from error
    try:
        return parquet.ParquetFile(path)
    except ValueError as error:
        raise DataError(path, f"is not a Parquet file: {error}") from error
