"""The contract of readers."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from regard.data.examples import Example


class Reader(ABC):
    """Streams the examples of files in their order, as often as it is asked to; or makes them, with no files at all."""

    tells: ClassVar[str] = ""  # what its files hold beside texts: "label", "tags"; "": whatever the columns are
    columns: tuple[str, ...]  # of every example
    files: tuple[Path, ...]  # what is read; none where examples are made

    @property
    def place(self) -> str:
        """What faults name: the first file, or how examples are made."""
        return str(self.files[0]) if self.files else self.key()

    @property
    def names(self) -> list[str]:
        """What messages name: the files without their folders, or how examples are made."""
        return [file.name for file in self.files] or [self.key()]

    @abstractmethod
    def key(self) -> str:
        """What, besides the content of the files, decides what is read."""

    @abstractmethod
    def __iter__(self) -> Iterator[Example]:
        """The examples; a file or line that cannot be used raises a DataError."""

    def grouped(self) -> Iterator[tuple[str, Example]]:
        """The examples, each behind the key of those that stay on one side where a part is held out.

        Here it is the text of the first column: equal texts stay together.
        """
        return ((example.texts[self.columns[0]], example) for example in self)
