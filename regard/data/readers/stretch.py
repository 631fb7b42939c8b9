"""A stretch of what another reader streams."""

from collections.abc import Iterator
from itertools import islice

from regard.data.examples import Example
from regard.data.readers.reader import Reader


class Stretch(Reader):
    """The examples from a share of all to another: 0.9 and 1 are the last tenth. Line numbers stay those of the files.

    Stretches that meet have no example in common and miss none.
    """

    def __init__(self, reader: Reader, start: float, end: float) -> None:
        self.columns, self.files = reader.columns, reader.files
        self._reader, self._start, self._end = reader, start, end

    def key(self) -> str:
        return f"from {self._start} to {self._end} of {self._reader.key()}"

    def __iter__(self) -> Iterator[Example]:
        count = sum(1 for _ in self._reader)
        yield from islice(self._reader, round(self._start * count), round(self._end * count))
