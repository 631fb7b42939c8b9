"""Parts of what another reader streams: a share of its examples, one of several folds, a stretch."""

from collections.abc import Iterator
from itertools import islice

from regard.data.examples import Example, position
from regard.data.readers.reader import GroupedReader, Reader


class HoldOut(GroupedReader):
    """The held-out share of a reader's examples, or the rest; the line numbers stay those of the files.

    Shares that begin at different `start` have no example in common, and none of one group: see `Reader.grouped`.
    """

    def __init__(self, reader: Reader, share: float, seed: int = 0, *, start: float = 0.0, held_out: bool) -> None:
        self.columns, self.files = reader.columns, reader.files
        self._reader, self._start, self._end, self._seed, self._held_out = reader, start, start + share, seed, held_out

    def key(self) -> str:
        return f"part {self._start} {self._end} {self._seed} {self._held_out} of {self._reader.key()}"

    def grouped(self) -> Iterator[tuple[str, Example]]:
        for key, example in self._reader.grouped():
            inside = self._start <= position(key, self._seed) < self._end
            if inside == self._held_out:
                yield key, example


class Fold(GroupedReader):
    """One of `folds` parts of a reader's examples, `fold` from 1 on, or with `held_out` false all the others.

    Every example is in exactly one fold, those of a group are in the same one, and folds are about as large. `seed`
    draws them; no seed draws as `HoldOut` does.
    """

    def __init__(self, reader: Reader, folds: int, fold: int, seed: int = 0, *, held_out: bool) -> None:
        self.columns, self.files = reader.columns, reader.files
        self._reader, self._folds, self._fold, self._seed, self._held_out = reader, folds, fold, seed, held_out

    def key(self) -> str:
        return f"fold {self._fold} of {self._folds} {self._seed} {self._held_out} of {self._reader.key()}"

    def grouped(self) -> Iterator[tuple[str, Example]]:
        for key, example in self._reader.grouped():
            place = position(key, -1 - self._seed)
            if (int(place * self._folds) + 1 == self._fold) == self._held_out:
                yield key, example


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
