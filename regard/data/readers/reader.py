"""The contract of readers: a source of examples, or a wrapper of another reader."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

from regard.config import Doc
from regard.data.examples import Example
from regard.errors import PartError

FileName = Annotated[str, Doc("File to read, plain or .gz.")]


class TableRows(NamedTuple):
    """The first rows of a table, all with one number of cells, for detecting its fields."""

    names: tuple[str, ...]  # of the fields, where the format has them; () where the first row may hold them
    rows: Iterator[list[str]]
    notes: tuple[str, ...] = ()  # for the user: an unusual delimiter, lines that are left out


class Reader(ABC):
    """Streams the examples of files in order, any number of times; or generates them without files."""

    derived: bool = False  # made of the examples of another reader: copies with changes
    answers: ClassVar[tuple[str, ...]] = ()  # forms of the answers that its files hold beside texts; (): by the columns
    columns: tuple[str, ...]  # of every example
    files: tuple[Path, ...]  # what is read; none where examples are made

    @property
    def place(self) -> str:
        """The name in faults: the first file, or how examples are made."""
        return str(self.files[0]) if self.files else self.key()

    @property
    def names(self) -> list[str]:
        """The names in messages: the files without their folders, or how examples are made."""
        return [file.name for file in self.files] or [self.key()]

    @abstractmethod
    def key(self) -> str:
        """Return everything that determines the examples, besides the content of the files."""

    @abstractmethod
    def __iter__(self) -> Iterator[Example]:
        """Yield the examples. Raises DataError for a file or line that cannot be used."""

    def count(self, most: int = sys.maxsize) -> int:
        """Return the number of examples, counted up to `most`. Raises DataError as reading does."""
        return sum(1 for _ in islice(self, most))

    def grouped(self) -> Iterator[tuple[str, Example]]:
        """Yield the examples, each after the key of its group, which a split does not divide.

        By default the key is the text of the first column: equal texts stay together.
        """
        return ((example.texts[self.columns[0]], example) for example in self)

    @classmethod
    def first_rows(cls, path: Path) -> TableRows | None:
        """Return the first rows of a file, with all fields, or None for a reader without tables.

        Raises DataError for a file of another format.
        """
        return None


def check_columns(columns: Sequence[str], count: int, problem: str, hint: str, *, setting: str = "") -> None:
    """Raise PartError for a task whose number of columns is not `count`."""
    if len(columns) != count:
        raise PartError(f"{problem}, and the task reads {', '.join(columns)}", hint, setting=setting)


class FileReader(Reader):
    """Reads one file."""

    def __init__(self, columns: Sequence[str], file: str) -> None:
        self.path = Path(file).expanduser()
        self.columns, self.files = tuple(columns), (self.path,)


class GroupedReader(Reader):
    """Reads examples whose groups depend on more than the first column."""

    def __iter__(self) -> Iterator[Example]:
        return (example for _, example in self.grouped())

    @abstractmethod
    def grouped(self) -> Iterator[tuple[str, Example]]:
        """Yield the examples, each after the key of its group."""
