"""Text files that an index cuts into documents, each of which belongs to one split as a whole."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.lines import read_lines
from regard.data.readers.parallel import FileOfColumn, ParallelReader
from regard.data.readers.reader import Reader
from regard.errors import DataError

_FIELDS = 4  # of the index: document, category, first line from 1, number of lines
Index = Annotated[
    str, Doc("Tab-separated file with a line per document: name, category, first line from 1, number of lines.")
]
DocumentPart = Annotated[Literal["train", "dev", "test"], Doc("Split to read.")]
Every = Annotated[
    int, Ge(3), Doc("Length of a split cycle, in documents: the last of each cycle is test, the one before is dev.")
]


class DocumentsReader(Reader):
    """Splits by document: of each `every` documents the last is test, the one before dev, the others train.

    `index` has a tab-separated line for each document, in the order of the files: name, category, first line (from 1)
    and number of lines.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        files: FileOfColumn,
        index: Index,
        part: DocumentPart = "train",
        every: Every = 10,
    ) -> None:
        self._lines = ParallelReader(columns, files=files)
        self._index, self._part, self._every = Path(index).expanduser(), part, every
        self.columns, self.files = self._lines.columns, (*self._lines.files, self._index)

    def key(self) -> str:
        return f"documents {self._part} {self._every} of {self._lines.key()}"

    def __iter__(self) -> Iterator[Example]:
        chosen = set(chain.from_iterable(self.ranges()))
        last = 0
        for example in self._lines:
            last = example.line
            if last in chosen:
                yield example
        if (most := max(chosen, default=0)) > last:
            problem = f"names lines up to {most:,}, and {self._lines.files[0]} has {last:,}"
            raise DataError(self._index, problem, hint="an index of other files?")

    def ranges(self) -> Iterator[range]:
        """Yield the lines of each document of the part, in order."""
        end = 1
        for number, line in enumerate(read_lines(self._index)):
            fields = line.split("\t")
            if len(fields) != _FIELDS or not all(field.isdecimal() for field in fields[2:]):
                hint = "name, category, first line, number of lines, with tabs between them"
                raise DataError(self._index, "is not a line of an index", line=number + 1, hint=hint)
            first, count = map(int, fields[2:])
            if first < end:
                problem = f"document '{fields[0]}' begins at line {first:,}; expected {end:,} or later"
                hint = "lines count from 1, and documents do not overlap"
                raise DataError(self._index, problem, line=number + 1, hint=hint)
            end = first + count
            if part_of(number, self._every) == self._part:
                yield range(first, end)


def part_of(number: int, every: int) -> str:
    """Return the part of document `number`, counted from 0."""
    return {-1: "test", -2: "dev"}.get(number % every - every, "train")
