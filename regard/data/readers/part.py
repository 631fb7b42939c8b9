"""Subsets of another reader's examples: a held-out fraction, one of several folds, a stretch."""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import groupby, islice
from warnings import warn

from regard.data.examples import Example, position
from regard.data.readers.reader import GroupedReader, Reader
from regard.errors import DataError


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
    them; no seed gives the split of `HoldOut`. `stratified`: every fold has about the same share of each label, which
    is the last column. The groups of a label, in sampled order, each join the fold with the fewest examples of it, of
    several the one with the fewest of all: without equal texts the examples of a label differ by one at most.
    """

    def __init__(
        self, reader: Reader, folds: int, fold: int, seed: int = 0, *, held_out: bool, stratified: bool = False
    ) -> None:
        self.columns, self.files = reader.columns, reader.files
        self._reader, self._folds, self._fold, self._seed, self._held_out = reader, folds, fold, seed, held_out
        self._stratified = stratified

    def key(self) -> str:
        kind = "stratified fold" if self._stratified else "fold"
        return f"{kind} {self._fold} of {self._folds} {self._seed} {self._held_out} of {self._reader.key()}"

    def grouped(self) -> Iterator[tuple[str, Example]]:
        """Raises DataError for stratified folds where no label has as many different texts."""
        for key, example in self._reader.grouped():
            place = self._place(key)
            fold = self._by_label[place] if self._stratified else int(place * self._folds) + 1
            if (fold == self._fold) == self._held_out:
                yield key, example

    def _place(self, key: str) -> float:
        return position(key, -1 - self._seed)

    @cached_property
    def _by_label(self) -> dict[float, int]:
        """Return the stratified fold of each group, by its place."""
        sizes, labels = Counter[float](), dict[float, str]()
        for key, example in self._reader.grouped():
            place = self._place(key)
            sizes[place] += 1
            labels.setdefault(place, example.texts[self.columns[-1]].strip())
        self._check(Counter(labels.values()))
        filled, found = Counter[int](), dict[float, int]()
        for _, places in groupby(sorted(labels, key=lambda place: (labels[place], place)), key=labels.__getitem__):
            own = Counter[int]()
            for place in places:
                fold = min(range(1, self._folds + 1), key=lambda one: (own[one], filled[one], one))
                own[fold] += sizes[place]
                filled[fold] += sizes[place]
                found[place] = fold
        return found

    def _check(self, counts: Counter[str]) -> None:
        """Raise DataError where no label is in all folds; warn of the first that is not."""
        rare = sorted(label for label, count in counts.items() if count < self._folds)
        if len(rare) == len(counts):
            most = max(counts.values(), default=0)
            problem = f"there are {self._folds}, and no label has more than {most:,} different texts"
            raise DataError("data.folds", problem, hint=f"at most {most}" if most > 1 else "data.stratified=false")
        if rare:
            warn(f"{self.place}: '{rare[0]:.40}' has fewer texts than there are folds ({self._folds})", stacklevel=2)


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
