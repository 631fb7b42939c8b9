"""Subsets of another reader's examples: a held-out fraction, one of several folds, a stretch."""

from collections.abc import Iterator
from itertools import islice

from regard.data.examples import Example, position
from regard.data.readers.reader import GroupedReader, Reader


class HoldOut(GroupedReader):
    """The held-out fraction of a reader's examples, or the rest; line numbers stay those of the files.

    Fractions from `start` that do not overlap have no example and no group in common: see `Reader.grouped`.
    """

    def __init__(self, reader: Reader, fraction: float, seed: int = 0, *, start: float = 0.0, held_out: bool) -> None:
        self.columns, self.files = reader.columns, reader.files
        self._reader, self._seed, self._held_out = reader, seed, held_out
        self._start, self._end = start, start + fraction

    def key(self) -> str:
        return f"part {self._start} {self._end} {self._seed} {self._held_out} of {self._reader.key()}"

    def grouped(self) -> Iterator[tuple[str, Example]]:
        for key, example in self._reader.grouped():
            inside = self._start <= position(key, self._seed) < self._end
            if inside == self._held_out:
                yield key, example


class Fold(GroupedReader):
    """Fold `fold`, from 1, of `folds` of a reader's examples, or with `held_out` false all other folds.

    Each example is in exactly one fold, a group is in one fold, and folds are of about equal size. `seed` samples
    them; no seed gives the split of `HoldOut`.
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
    """The examples from one fraction of all to another: 0.9 to 1 is the last tenth. Line numbers stay those of files.

    Adjacent stretches neither share an example nor miss one.
    """

    def __init__(self, reader: Reader, start: float, end: float) -> None:
        self.columns, self.files = reader.columns, reader.files
        self._reader, self._start, self._end = reader, start, end

    def key(self) -> str:
        return f"from {self._start} to {self._end} of {self._reader.key()}"

    def __iter__(self) -> Iterator[Example]:
        count = sum(1 for _ in self._reader)
        yield from islice(self._reader, round(self._start * count), round(self._end * count))
