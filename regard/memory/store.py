"""A translation memory in one SQLite file, which several processes read and write at once.

segments   source, target and where they come from; a pair of texts stands once

`regard.memory.similarity` has the tables of words. Write-ahead logging and a commit for every call keep what was added,
whatever is killed when.
"""

import hashlib
import os
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import ConfigError, DataError
from regard.memory.reuse import MATCHES, Recall, Searching, recall
from regard.memory.similarity import (
    EXACT,
    HOLES,
    IN_CONTEXT,
    LONGEST_SIDE,
    THRESHOLD,
    WordIndex,
    differences,
    percent_of,
    plain_text,
    segment_words,
)
from regard.results import MemoryMatch

_VERSION = 1
_SECONDS = 30.0  # to wait for another process that writes
_AT_ONCE = 200_000  # segments of one transaction
_RELATED = 4  # candidates of a search by rare words, for each match that is wanted
_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value);
CREATE TABLE segments (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, target TEXT NOT NULL, before TEXT NOT NULL,
    origin TEXT NOT NULL, author TEXT NOT NULL, created TEXT NOT NULL, mark INTEGER NOT NULL, pair INTEGER NOT NULL
);
CREATE INDEX by_source ON segments (mark);
CREATE UNIQUE INDEX by_pair ON segments (pair);
"""


class TranslationUnit(NamedTuple):
    """A text and its translation."""

    source: str
    target: str
    before: str = ""  # the source text before it in its document
    origin: str = ""
    author: str = ""
    created: str = ""  # ISO 8601; "": now

    @property
    def too_long(self) -> bool:
        """Return whether a side has more characters than a memory keeps; NFC makes three of one at most."""
        sides = (side for side in (self.source, self.target) if 3 * len(side) > LONGEST_SIDE)
        return any(len(plain_text(side)) > LONGEST_SIDE for side in sides)


class RelatedSegment(NamedTuple):
    """A segment and how relevant it is to a text, from 0 to 1."""

    match: MemoryMatch
    relevance: float


class TranslationMemory:
    """Segments of one language pair in a file.

    Args:
        path: The file; a new one is made where there is none and `languages` are given.
        languages: Codes of source and target. None: those of the file.
        seconds: Time to wait for another process that writes.

    Raises DataError for a file that is missing, not a memory, or one of other languages.
    """

    def __init__(
        self, path: Path | str, languages: tuple[str, str] | None = None, *, seconds: float = _SECONDS
    ) -> None:
        self.path, self.seconds = Path(path), seconds
        if languages is None and not self.path.is_file():
            raise DataError(self.path, "there is no such memory", hint=f"regard memory add {path} --languages en de")
        with self._faults():
            self._connection = sqlite3.connect(
                _address(self.path), timeout=seconds, isolation_level=None, check_same_thread=False,
                cached_statements=64, uri=True,
            )  # fmt: skip
            self._connection.execute("PRAGMA synchronous=FULL")  # what is confirmed outlives a power cut
            if languages is not None and not self._rows("SELECT 1 FROM sqlite_master"):
                self._make(languages)
            self._check(languages)
        self._index = WordIndex(self._connection)
        self._inode = self.path.stat().st_ino

    def _make(self, languages: tuple[str, str]) -> None:
        """Make the tables in an empty file."""
        self._connection.execute("PRAGMA journal_mode=WAL")
        with self._writing():
            if self._rows("SELECT 1 FROM sqlite_master"):  # another process was faster
                return
            for statement in (_TABLES + WordIndex.TABLES).split(";"):
                self._connection.execute(statement)
            made = {"version": _VERSION, "loose": 0, "source": languages[0], "target": languages[1]}
            self._connection.executemany("INSERT INTO facts VALUES (?, ?)", made.items())

    def _check(self, languages: tuple[str, str] | None) -> None:
        """Raise DataError for the file of another program, version or language pair."""
        if not self._rows("SELECT 1 FROM sqlite_master WHERE name = 'postings'"):
            raise DataError(self.path, "is not a translation memory", hint="choose another file")
        facts: dict[str, Any] = dict(self._rows("SELECT name, value FROM facts"))
        if facts.get("version") != _VERSION:
            raise DataError(self.path, f"is a memory of version {facts.get('version')}; expected {_VERSION}")
        self.languages = (facts["source"], facts["target"])
        if languages is not None and languages != self.languages:
            raise DataError(self.path, f"has {' → '.join(self.languages)}, not {' → '.join(languages)}")

    def check_languages(self, pair: Sequence[str | None], setting: str) -> None:
        """Raise ConfigError, naming a setting, for a model that translates another pair; None: a code is not known."""
        theirs = [code or "" for code in pair]
        if any(one and other and one != other for one, other in zip(self.languages, theirs, strict=True)):
            problem = f"'{self.path}' has {' → '.join(self.languages)}, and the model translates {' → '.join(theirs)}"
            raise ConfigError(setting, problem, "take a memory of these languages")

    @property
    def replaced(self) -> bool:
        """Return True if the path now has another file, or none: what is added would be lost."""
        try:
            return self.path.stat().st_ino != self._inode
        except OSError:
            return True

    def __len__(self) -> int:
        """Return the number of segments."""
        with self._faults():
            return int(self._rows("SELECT count(*) FROM segments")[0][0])

    def close(self) -> None:
        """Close the file. The last connection that is closed leaves one file, without -wal and -shm beside it."""
        self._connection.close()

    def __enter__(self) -> "TranslationMemory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, segments: Iterable[TranslationUnit], *, newest: bool = False) -> int:
        """Add segments, and return how many are new. Each 200,000 are written at once, completely or not at all.

        Pairs that the memory has, empty sides and sides longer than 10,000 characters are left out. `newest`: pairs
        that it has become its newest segments.
        """
        rest, added = iter(segments), 0
        while some := [*islice(rest, _AT_ONCE)]:
            with self._faults(), self._writing():
                if newest:
                    pairs = ((_mark(plain_text(one.source), plain_text(one.target)),) for one in some)
                    self._connection.executemany("DELETE FROM segments WHERE pair = ?", pairs)
                added += self._added(some)
                self._index.tidy(len(some))
        return added

    def remove(self, source: str, target: str) -> bool:
        """Remove a segment and return whether there was one."""
        pair = _mark(plain_text(source), plain_text(target))
        with self._faults(), self._writing():
            return self._connection.execute("DELETE FROM segments WHERE pair = ?", (pair,)).rowcount > 0

    def authors(self) -> dict[str, int]:
        """Return the number of segments of each author."""
        with self._faults():
            return dict(self._rows("SELECT author, count(*) FROM segments GROUP BY author"))

    def remove_author(self, author: str) -> int:
        """Remove all segments of an author, also from the index, and return how many there were."""
        with self._faults(), self._writing():
            gone = self._rows("SELECT id, source FROM segments WHERE author = ?", (author,))
            self._connection.execute("DELETE FROM segments WHERE author = ?", (author,))
            self._index.remove(gone)
        return len(gone)

    def segments(self) -> Iterator[TranslationUnit]:
        """Yield all segments in the order in which they were added."""
        with self._faults():
            cursor = self._connection.execute(
                "SELECT source, target, before, origin, author, created FROM segments ORDER BY id"
            )
            yield from (TranslationUnit(*row) for row in cursor)

    def search(self, text: str, *, before: str = "", threshold: int = THRESHOLD, limit: int = 5) -> list[MemoryMatch]:
        """Return the segments most like a text, best first; of equal ones the newest first.

        Args:
            text: The source text.
            before: The text before it in its document: an equal one makes an exact match one in context (101).
            threshold: Minimum similarity in per cent, 1 to 100.
            limit: Maximum number of matches.
        """
        text, before = plain_text(text), plain_text(before)
        with self._faults():
            found = self._exact(text, before)
            if len(found) < limit and threshold < EXACT:
                known = {match.segment for match in found}
                found += [match for match in self._similar(text, threshold) if match.segment not in known]
        best = sorted(found, key=lambda match: (-match.percent, -match.segment))[:limit]
        return [one if one.exact else one._replace(differs=differences(text, one.source)) for one in best]

    def similar(self, text: str, *, threshold: int, limit: int) -> list[MemoryMatch]:
        """Return the segments of other texts that are most like a text, best first, as `search` does."""
        text = plain_text(text)
        with self._faults():
            found = [match for match in self._similar(text, threshold) if match.source != text]
        return sorted(found, key=lambda match: (-match.percent, -match.segment))[:limit]

    def related(self, text: str, *, threshold: int, limit: int) -> list[RelatedSegment]:
        """Return segments that share rare words with a text, the most relevant first; of equal ones the newest first.

        Relevance is the mean of the similarity that `search` has and of the share of the text's words that a segment
        has, rare words counting more. `threshold` is in per cent.
        """
        text = plain_text(text)
        with self._faults():
            words = segment_words(text[:LONGEST_SIDE])
            numbers, rarities = self._index.with_rare_words(words, threshold)
            rows = {row[0]: row[:6] for row in self._segments_of({text}).get(text, [])}
            place, size = 0, _RELATED * limit
            while place < len(numbers) and len(rows) < _RELATED * limit:  # removed segments are still in the index
                some = numbers[place : place + min(size, HOLES)]
                there = {row[0]: row for row in self._segments(some)}
                rows |= {number: there[number] for number in some if number in there}
                place, size = place + len(some), 2 * size
        total, found = sum(rarities.values()), list[RelatedSegment]()
        for row in islice(rows.values(), _RELATED * limit):
            others, exact = segment_words(row[1]), row[1] == text
            percent = EXACT if exact else percent_of(words, others)
            shared = sum(rarities[word] for word in rarities.keys() & {*others})
            relevance = 1.0 if exact else (percent / EXACT + shared / total) / 2
            found.append(RelatedSegment(MemoryMatch(percent, *row), relevance))
        best = sorted(found, key=lambda one: (-one.relevance, -one.match.segment))[:limit]
        return [one for one in best if 100 * one.relevance >= threshold]

    def recall(
        self, text: str, sentences: Sequence[str], *, before: str = "", threshold: int = THRESHOLD, limit: int = MATCHES
    ) -> Recall:
        """Return the matches of a text as a whole, else of its sentences, of at least `threshold` per cent."""
        return recall(self.search, text, sentences, before, threshold, limit)

    def exact_search(self, texts: Iterable[str]) -> Searching:
        """Return a search for exact matches of these texts alone, which are read at once."""
        with self._faults():
            known = self._segments_of({*map(plain_text, texts)})

        def search(text: str, *, before: str = "", threshold: int = EXACT, limit: int = 5) -> list[MemoryMatch]:
            found = _in_context(known.get(plain_text(text), []), plain_text(before))
            return sorted(found, key=lambda match: (-match.percent, -match.segment))[:limit]

        return search

    def _exact(self, text: str, before: str) -> list[MemoryMatch]:
        return _in_context(self._segments_of({text}).get(text, []), before)

    def _segments_of(self, texts: Collection[str]) -> dict[str, list[Any]]:
        """Return the rows of segments by their source, which is one of these texts."""
        found, marks = defaultdict[str, list[Any]](list), map(_mark, texts)
        while some := [*islice(marks, HOLES)]:
            for row in self._rows(
                "SELECT id, source, target, origin, author, created, before FROM segments"
                f" WHERE mark IN ({','.join('?' * len(some))})",
                some,
            ):
                found[row[1]].append(row)
        return found

    def _similar(self, text: str, threshold: int) -> list[MemoryMatch]:
        if len(text) > LONGEST_SIDE:  # no segment is as long
            return []
        words = segment_words(text)
        rows = self._segments(self._index.candidates(words, threshold))
        scored = ((percent_of(words, segment_words(row[1]), threshold), row) for row in rows)
        return [MemoryMatch(percent, *row) for percent, row in scored if percent >= threshold]

    def _segments(self, numbers: Sequence[int]) -> list[Any]:
        columns, holes = "id, source, target, origin, author, created", ",".join("?" * len(numbers))
        return self._rows(f"SELECT {columns} FROM segments WHERE id IN ({holes})", numbers)

    def _added(self, segments: Sequence[TranslationUnit]) -> int:
        """Write segments and their postings; return how many are new."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        first = self._rows("SELECT coalesce(max(id), 0) + 1 FROM segments")[0][0]
        rows = []
        for one in segments:
            source, target = plain_text(one.source), plain_text(one.target)
            if source and target and not one.too_long:
                origin = (plain_text(one.before), one.origin, one.author, one.created or now)
                rows.append((source, target, *origin, _mark(source), _mark(source, target)))
        insert = (
            "INSERT OR IGNORE INTO segments (source, target, before, origin, author, created, mark, pair)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        self._connection.executemany(insert, rows)
        new = self._rows("SELECT id, source FROM segments WHERE id >= ? ORDER BY id", (first,))
        self._index.add(new)
        return len(new)

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Commit all, or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.rollback()
            raise
        self._connection.commit()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn errors of SQLite into one line."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            busy = f"another process has been writing for {self.seconds:g} seconds"
            table = f"to make one of a table or TMX: regard memory add en-de.memory {self.path} --languages en de"
            known = {
                "locked": (busy, ""),
                "not a database": ("is not a translation memory", table),
                "readonly": ("is read-only", "copy it to a folder that you may write to"),
                "unable to open": ("cannot be opened", "a file in a folder that you may write to"),
            }
            other = f"cannot be used: {error}", ""
            problem, hint = next((found for said, found in known.items() if said in str(error)), other)
            raise DataError(self.path, problem, hint=hint) from error


def _address(path: Path) -> str:
    """Return the URI of a file; one that may not be written is opened as it is: SQLite would make files beside it."""
    alone = path.is_file() and not path.with_name(f"{path.name}-wal").exists()
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return path.absolute().as_uri() + ("?immutable=1" if alone and not writable else "")


def _in_context(rows: Iterable[Any], before: str) -> list[MemoryMatch]:
    """Return segments of the same text as matches; `before`: the text before it."""
    return [MemoryMatch(IN_CONTEXT if before and row[6] == before else EXACT, *row[:6]) for row in rows]


def _mark(*texts: str) -> int:
    """Return 64 bits that stand for texts."""
    digest = hashlib.blake2b("\x00".join(texts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
