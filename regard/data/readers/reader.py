"""The contract of readers."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from regard.data.examples import Example


class Reader(ABC):
    """Streams the examples of files in their order, as often as it is asked to."""

    columns: tuple[str, ...]  # of every example
    files: tuple[Path, ...]  # what is read

    @abstractmethod
    def key(self) -> str:
        """What, besides the content of the files, decides what is read."""

    @abstractmethod
    def __iter__(self) -> Iterator[Example]:
        """The examples; a file or line that cannot be used raises a DataError."""
