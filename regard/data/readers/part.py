"""A part of what another reader streams."""

from collections.abc import Iterator

from regard.data.examples import Example, split
from regard.data.readers.reader import Reader


class Part(Reader):
    """The held-out share of a reader's examples, or the rest; the line numbers stay those of the files."""

    def __init__(self, reader: Reader, share: float, seed: int = 0, *, held_out: bool) -> None:
        self.columns, self.files = reader.columns, reader.files
        self._reader, self._share, self._seed, self._held_out = reader, share, seed, held_out

    def key(self) -> str:
        return f"part {self._share} {self._seed} {self._held_out} of {self._reader.key()}"

    def __iter__(self) -> Iterator[Example]:
        for example in self._reader:
            if split(example, self._share, self._seed, self.columns[0]) == self._held_out:
                yield example
