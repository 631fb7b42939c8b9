"""What another reader streams, every example checked as it is read."""

from collections.abc import Callable, Iterator, Mapping

from regard.data.examples import Example
from regard.data.readers.reader import Reader
from regard.errors import DataError

Texts = Mapping[str, str]  # of an example, by column


class CheckedReader(Reader):
    """The examples of a reader. Raises DataError, with file and line, for one for which `check` raises one.

    Those that are not usable are left to whoever leaves them out.
    """

    def __init__(self, reader: Reader, usable: Callable[[Texts], bool], check: Callable[[Texts], None]) -> None:
        self.columns, self.files = reader.columns, reader.files
        self._reader, self._usable, self._check = reader, usable, check

    def key(self) -> str:
        return self._reader.key()

    def __iter__(self) -> Iterator[Example]:
        return (example for _, example in self.grouped())

    def grouped(self) -> Iterator[tuple[str, Example]]:
        """The examples as the reader groups them."""
        for key, example in self._reader.grouped():
            if self._usable(example.texts):
                self._look(example)
            yield key, example

    def _look(self, example: Example) -> None:
        try:
            self._check(example.texts)
        except DataError as error:
            problem = f"column {error.path}: {error.problem}"
            raise DataError(self.place, problem, line=example.line, hint=error.hint) from error
