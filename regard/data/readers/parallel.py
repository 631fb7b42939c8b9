"""Parallel text files: line n of each belongs together."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.lines import read_lines
from regard.data.readers.mismatch import first_suspicious
from regard.data.readers.reader import Reader
from regard.errors import DataError, PartError


class ParallelReader(Reader):
    """One text file a column, plain or .gz: `files: {source: train.en, target: train.de}`."""

    def __init__(
        self, columns: tuple[str, ...], *, files: Annotated[Mapping[str, str], Doc("Text file of each column.")]
    ) -> None:
        if set(files) != set(columns):
            raise PartError(
                f"names {_listed(files)}", f"needed is one file each for {_listed(columns)}", setting="files"
            )
        self.columns = tuple(columns)
        self.files = tuple(Path(files[column]).expanduser() for column in columns)

    def key(self) -> str:
        return f"parallel {self.columns}"

    def __iter__(self) -> Iterator[Example]:
        streams = [read_lines(path) for path in self.files]
        try:
            for number, texts in enumerate(zip_longest(*streams), start=1):
                if None in texts:
                    raise self._unequal()
                yield Example(number, dict(zip(self.columns, texts, strict=True)))
        finally:
            for stream in streams:
                stream.close()

    def _unequal(self) -> DataError:
        """Both counts, and where the files part company."""
        counts = {path: sum(1 for _ in read_lines(path)) for path in self.files}
        longer, shorter = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
        problem = f"{counts[longer]:,} lines, but {shorter} has {counts[shorter]:,}; "
        with closing(read_lines(longer)) as more, closing(read_lines(shorter)) as fewer:
            return DataError(longer, problem + first_suspicious(more, fewer, counts[longer] - counts[shorter]))


def _listed(names: Mapping[str, str] | tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
