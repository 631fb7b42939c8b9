"""Phrase pairs with their scores, in memory and in the text files of Moses (https://aclanthology.org/P07-2045).

A line of a table is `source ||| target ||| scores ||| links`, a line of a reordering table `source ||| target ||| six
probabilities`. A file whose name ends in .gz is compressed. A bar in a word is written as `&#124;`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Longs
from regard.data.ragged import Ragged
from regard.data.readers.lines import read_lines
from regard.errors import DataError
from regard.evaluation.alignments import Link
from regard.packed import PACKED, write_packed
from regard.statistical.bitext import split_words

Phrase = tuple[str, ...]
_Scores = tuple[float, ...]

TRANSLATION_SCORES = ("p(source|target)", "lexical p(source|target)", "p(target|source)", "lexical p(target|source)")
REORDERING = tuple(f"{one}, {side}" for side in ("previous", "next") for one in ("monotone", "swap", "discontinuous"))
LOWEST = -100.0  # log of a probability that is written as 0
_MOST_WORDS = 1000  # of a phrase that is read
_BAR, _ESCAPED = "|", "&#124;"


class PhraseEntry(NamedTuple):
    """One translation of a phrase; scores are natural logarithms."""

    target: Phrase
    scores: _Scores  # of SCORES
    links: tuple[Link, ...] = ()  # of words inside the pair, from 0
    reordering: _Scores = ()  # of REORDERING, where the table has them


class PhraseTable:
    """The translations of each source phrase, the likeliest first. Arrays hold all of them: a table is large.

    `scores` (row, 4) and `reordering` (row, 6 or 0) are natural logarithms, float32; the words of `targets` are places
    in `words`. The rows of a source phrase follow each other.
    """

    def __init__(
        self, words: Sequence[str], sources: Ragged, firsts: Longs, *,
        targets: Ragged, links: Ragged, scores: NDArray[np.float32], reordering: NDArray[np.float32],
    ) -> None:  # fmt: skip
        """`sources` (phrase) are distinct; the rows of phrase i are firsts[i] … firsts[i + 1] - 1.

        `links` (row) are flat: source, target, source, target …
        """
        self.words, self.sources, self.firsts = list(words), sources, firsts
        self.targets, self.links, self.scores, self.reordering = targets, links, scores, reordering
        self.longest = int(sources.lengths().max(initial=0))
        self._ids = {word: place for place, word in enumerate(self.words)}
        flat, ends = np.ascontiguousarray(sources.data, np.int32).tobytes(), (sources.offsets * 4).tolist()
        self._places = {flat[start:end]: place for place, (start, end) in enumerate(pairwise(ends))}

    @classmethod
    def of(cls, pairs: Iterable[tuple[Phrase, PhraseEntry]]) -> "PhraseTable":
        """Return a table of pairs in any order. All of them have reordering scores, or none has."""
        words, places = dict[str, int](), dict[tuple[int, ...], int]()
        phrases, targets, links = list[int](), list[tuple[int, ...]](), list[tuple[int, ...]]()
        scores, reordering = list[_Scores](), list[_Scores]()
        for source, entry in pairs:
            phrases.append(places.setdefault(_ids(source, words), len(places)))
            targets.append(_ids(entry.target, words))
            links.append(tuple(place for link in entry.links for place in link))
            scores.append(entry.scores)
            reordering.append(entry.reordering)
        known = np.array(scores, np.float32).reshape(len(phrases), len(TRANSLATION_SCORES))
        order = np.lexsort((-known[:, 2], np.array(phrases, np.int64)))
        firsts = np.concatenate([[0], np.cumsum(np.bincount(phrases, minlength=len(places)))]).astype(np.int64)
        return cls(
            list(words), Ragged.of(list(places), np.dtype(np.int32)), firsts,
            targets=Ragged.of([targets[row] for row in order], np.dtype(np.int32)),
            links=Ragged.of([links[row] for row in order], np.dtype(np.uint16)),
            scores=known[order],
            reordering=np.array(reordering, np.float32).reshape(len(phrases), -1 if phrases else 0)[order],
        )  # fmt: skip

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.scores)

    def __contains__(self, phrase: Sequence[str]) -> bool:
        return len(self.rows(phrase)) > 0

    def __iter__(self) -> Iterator[tuple[Phrase, PhraseEntry]]:
        """All pairs, those of a source phrase together."""
        for place, (start, end) in enumerate(pairwise(self.firsts)):
            source = self._spelled(self.sources.row(place))
            for row in range(start, end):
                yield source, self.entry(row)

    def rows(self, phrase: Sequence[str]) -> range:
        """Return the rows of a source phrase; an empty range for one that is not there."""
        ids = [self._ids.get(word, -1) for word in phrase]
        place = self._places.get(np.array(ids, np.int32).tobytes(), -1)
        return range(self.firsts[place], self.firsts[place + 1]) if place >= 0 else range(0)

    def entries(self, phrase: Sequence[str]) -> list[PhraseEntry]:
        """Return the translations of a source phrase, the likeliest p(target|source) first."""
        return [self.entry(row) for row in self.rows(phrase)]

    def entry(self, row: int) -> PhraseEntry:
        """Return what a row holds."""
        flat = self.links.row(row).tolist()
        links = tuple(zip(flat[::2], flat[1::2], strict=True))
        target = self._spelled(self.targets.row(row))
        return PhraseEntry(target, tuple(self.scores[row].tolist()), links, tuple(self.reordering[row].tolist()))

    def _spelled(self, ids: NDArray[Any]) -> Phrase:
        return tuple(self.words[place] for place in ids.tolist())

    def write(self, path: Path, reordering: Path | None = None) -> None:
        """Write the table, and its reordering scores to a file of their own."""
        _write(path, self, lambda entry: f"{_numbers(entry.scores)} ||| {_pharaoh(entry.links)}")
        if reordering is not None:
            _write(reordering, self, lambda entry: _numbers(entry.reordering))

    @classmethod
    def read(cls, path: Path, reordering: Path | None = None) -> "PhraseTable":
        """Read a table, and its reordering scores where their file is given.

        Raises DataError with the line of what is cut off or no entry, and for a pair without reordering scores.
        """
        found = (
            {}
            if reordering is None
            else {
                (source, target): _logs(reordering, number, six, 6)
                for source, target, number, (six, *_) in _fields(reordering, 3)
            }
        )

        def pairs() -> Iterator[tuple[Phrase, PhraseEntry]]:
            for source, target, number, (scores, links, *_) in _fields(path, 4):
                if reordering is not None and (source, target) not in found:
                    raise DataError(reordering, f"has no line '{source} ||| {target}'", hint=f"{path} has it")
                written, wording = _phrase(path, number, source), _phrase(path, number, target)
                ours = _links(path, number, links, (len(written), len(wording)))
                logs = _logs(path, number, scores, len(TRANSLATION_SCORES))
                yield written, PhraseEntry(wording, logs, ours, found.get((source, target), ()))

        return cls.of(pairs())


def _ids(phrase: Phrase, words: dict[str, int]) -> tuple[int, ...]:
    return tuple(words.setdefault(word, len(words)) for word in phrase)


def _numbers(logs: _Scores) -> str:
    return " ".join(f"{math.exp(one):.6g}" if one > LOWEST else "0" for one in logs)


def _pharaoh(links: Iterable[Link]) -> str:
    return " ".join(f"{source}-{target}" for source, target in links)


def _write(path: Path, table: PhraseTable, values: Callable[[PhraseEntry], str]) -> None:
    with write_packed(path) as file:
        for source, entry in table:
            texts = (" ".join(phrase).replace(_BAR, _ESCAPED) for phrase in (source, entry.target))
            file.write(" ||| ".join([*texts, values(entry)]) + "\n")


def _fields(path: Path, least: int) -> Iterator[tuple[str, str, int, list[str]]]:
    """Both phrases of each line, its number and its other fields."""
    number = 0
    try:
        for number, line in enumerate(read_lines(path), start=1):
            source, *others = (field.strip() for field in line.split("|||"))
            if len(others) + 1 < least:
                problem = f"has {len(others) + 1} of {least} fields: the line is cut off, or no line of such a table"
                raise DataError(path, problem, line=number, hint="source ||| target ||| scores ||| links")
            yield source, others[0], number, others[1:]
    except DataError as error:
        if error.line is not None or not number:
            raise
        raise DataError(path, error.problem, line=number + 1, hint="the file is cut off") from error
    if path.suffix not in PACKED:
        with path.open("rb") as file:
            file.seek(-1, 2)
            if file.read() != b"\n":
                raise DataError(path, "the last line has no end: the table is cut off", line=number)


def _phrase(path: Path, number: int, text: str) -> Phrase:
    words = tuple(word.replace(_ESCAPED, _BAR) for word in split_words(text))
    if not 0 < len(words) <= _MOST_WORDS:
        raise DataError(path, f"a phrase has {len(words)} words, possible are 1 to {_MOST_WORDS}", line=number)
    return words


def _logs(path: Path, number: int, text: str, count: int) -> _Scores:
    try:
        values = [float(one) for one in text.split()]
    except ValueError as error:
        raise DataError(path, f"'{text:.60}' are not probabilities", line=number) from error
    if len(values) != count or not all(0 <= one < math.inf for one in values):
        raise DataError(path, f"'{text:.60}' are not {count} probabilities", line=number)
    return tuple(max(math.log(one), LOWEST) if one else LOWEST for one in values)


def _links(path: Path, number: int, text: str, sizes: tuple[int, int]) -> tuple[Link, ...]:
    links = list[Link]()
    for item in text.split():
        places = item.split("-")
        if len(places) != 2 or not all(one.isascii() and one.isdigit() and len(one) < 9 for one in places):
            raise DataError(
                path, f"'{item:.40}' is not a link", line=number, hint="source-target, both from 0: 0-0 1-2"
            )
        source, target = map(int, places)
        if source >= sizes[0] or target >= sizes[1]:
            raise DataError(path, f"the link {item} points behind a phrase", line=number)
        links.append((source, target))
    return tuple(links)
