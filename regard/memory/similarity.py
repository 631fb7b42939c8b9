"""Similar source texts of a translation memory: an index of their words, and the edit distance of words in per cent.

words      words of sources, with the number of segments that have them
postings   segments that have a word, by the number of their words, in blocks of increasing numbers

A similar text shares words: of n words, a text of at least t per cent shares ⌈n·t/100⌉. So each has one of the rarest
n - ⌈n·t/100⌉ + 1 words (prefix filtering, https://doi.org/10.1145/1242572.1242591), and only their postings are read in
full.
"""

import math
import re
import sqlite3
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein, Opcodes

from regard.results import SegmentDifference
from regard.scripts import UNSPACED
from regard.text.clean import without_surrogates

EXACT, IN_CONTEXT = 100, 101
THRESHOLD = 70  # per cent, below which a segment helps little
_ALMOST = 99  # the same words with other capitals or punctuation
_WORDS = re.compile(rf"[{UNSPACED}]|[^\W_]+(?:['’][^\W_]+)*")
_SPACES = re.compile(r"\s+")
LONGEST_SIDE = 10_000  # characters of a side
HOLES = 500  # values of one query
_LOOSE = 2_000  # segments in small blocks, before these are joined
_SCORED = 400  # candidates whose edit distance is computed, those that share most words
_LONGER = 4  # times the words of a text, and that many more: the longest segment that a search by rare words finds
_ROUNDING = 1e-6  # per cent
_READ = 50_000  # numbers of segments that a search by rare words reads at most

Numbers = NDArray[np.uint32]
_Span = tuple[int, int]


def plain_text(text: str) -> str:
    """Return a text in NFC with single spaces and without surrogates: texts that are equal then are exact matches."""
    return _SPACES.sub(" ", unicodedata.normalize("NFC", without_surrogates(text))).strip()


def segment_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without signs; characters of scripts without spaces are words."""
    return _WORDS.findall(unicodedata.normalize("NFC", text).casefold())


def percent_of(words: Sequence[str], others: Sequence[str], threshold: int = 0) -> int:
    """Return 100 · (1 - edit distance / length of the longer one), at most 99, or 0 below `threshold`."""
    longest = max(len(words), len(others), 1)
    most = longest * (100 - threshold) // 100
    distance = Levenshtein.distance(words, others, score_cutoff=most)
    return min(_ALMOST, 100 * (longest - distance) // longest) if distance <= most else 0


def differences(text: str, other: str) -> list[SegmentDifference]:
    """Return the stretches in which two texts differ, in order: replaced words, words on one side alone, other signs.

    Signs and spaces belong to the word before them; spaces at the ends are not compared.
    """
    sides = [[(found.start(), found.end()) for found in _WORDS.finditer(one)] for one in (text, other)]
    words = [[one[start:end].casefold() for start, end in side] for one, side in zip((text, other), sides, strict=True)]
    found, places = list[SegmentDifference](), [0, 0]
    for ends in [*_steps(Levenshtein.opcodes(*words), sides, text, other), [len(text), len(other)]]:
        one = SegmentDifference(text[places[0] : ends[0]], other[places[1] : ends[1]], places[1])
        found += [one] if one.text.strip() != one.segment.strip() else []
        places = ends
    return found


def _steps(opcodes: Opcodes, sides: Sequence[Sequence[_Span]], text: str, other: str) -> Iterator[list[int]]:
    """Yield where both texts are after each word that they share, and after each other stretch."""
    for step in opcodes:
        count = step.src_end - step.src_start if step.tag == "equal" else 1
        for left in reversed(range(count)):
            yield [_end(sides[0], step.src_end - left, text), _end(sides[1], step.dest_end - left, other)]


def _end(spans: Sequence[_Span], count: int, text: str) -> int:
    """Return where the first `count` words end, with the signs and spaces before the next one."""
    return spans[count][0] if count < len(spans) else len(text) if count else 0


class WordIndex:
    """The words of segments and where they are, read and written within the transactions of the memory."""

    TABLES = """
CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, count INTEGER NOT NULL);
CREATE TABLE postings (word INTEGER, length INTEGER, block INTEGER, segments BLOB NOT NULL);
CREATE INDEX by_word ON postings (word, length, block);
"""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def candidates(self, words: Sequence[str], threshold: int) -> list[int]:
        """Return the segments that share enough words, at most 400: those that share most, then the newest."""
        often, shared = Counter(words), max(1, -(-len(words) * threshold // 100))
        known = self._known(often)
        weights = [often[word] for _, word, _ in known]
        lengths = (shared, len(words) * 100 // threshold)
        found, counts = np.empty(0, np.uint32), np.empty(0, np.int64)
        for place, (word, _, _) in enumerate(known):
            later = sum(weights[place:])  # a segment seen here first shares no more than these
            if later < shared and not len(found):
                break
            postings = self._postings(word, lengths)
            if later >= shared:
                merged = _sorted(np.concatenate([found, postings]))
                merged = np.concatenate([merged[:1], merged[1:][merged[1:] != merged[:-1]]])
                kept = np.zeros(len(merged), np.int64)
                kept[np.searchsorted(merged, found)] = counts
                found, counts = merged, kept
            places = np.searchsorted(postings, found)
            places[places == len(postings)] = 0
            counts += weights[place] * (postings[places] == found if len(postings) else 0)
            enough = counts + later - weights[place] >= shared
            found, counts = found[enough], counts[enough]
        best = np.lexsort((-found.astype(np.int64), -counts))[:_SCORED]
        return [int(number) for number in found[best]]

    def with_rare_words(self, words: Sequence[str], threshold: int) -> tuple[list[int], dict[str, float]]:
        """Return the segments that share words with a text, best first, and the rarity of each word of the text.

        First are those with the largest sum of rarities of shared words, then the nearest in length, then the newest.
        Segments of more than four times the length, words that very many segments have, and segments whose mean of
        similarity and of the share of the text's rarities cannot reach `threshold` per cent are left out. A rarity is
        log(1 + segments / segments with the word); a word that none has counts as if one had it.
        """
        often, known, longest = Counter(words), self._known(words), _LONGER * len(words) + _LONGER
        ((total,),) = self._rows("SELECT coalesce(max(id), 1) FROM segments")
        counts = {word: max(1, count) for _, word, count in known}
        rarities = {word: math.log1p(total / counts.get(word, 1)) for word in words}
        read, unread = dict[int, tuple[float, int]](), [0.0, 0]
        for (number, word, _), numbers in zip(known, accumulate(count for _, _, count in known), strict=True):
            if numbers <= _READ:
                read[number] = rarities[word], often[word]
            else:
                unread = [unread[0] + rarities[word], unread[1] + often[word]]
        query = (
            f"SELECT word, length, segments FROM postings WHERE length <= ? AND word IN ({','.join('?' * len(read))})"
        )
        blocks = self._rows(query, (longest, *read))
        sizes = [len(block) // 4 for _, _, block in blocks]
        numbers = np.frombuffer(b"".join(block for *_, block in blocks), np.uint32).astype(np.int64)
        pairs = np.repeat(np.array([word for word, *_ in blocks], np.int64), sizes) << 32 | numbers  # of word, segment
        lengths, every = np.repeat(np.array([length for _, length, _ in blocks], np.int64), sizes), numbers
        pairs, first = np.unique(pairs, return_index=True)  # a segment whose number was taken again is there twice
        shared = np.array([read[word] for word in (pairs >> 32).tolist()]).reshape(-1, 2)
        numbers, one, places = np.unique(pairs & 0xFFFFFFFF, return_index=True, return_inverse=True)
        values, common = (np.bincount(places, column, len(numbers)).round(9) for column in shared.T)
        shortest = np.full(len(numbers), longest, np.int64)  # of those that a number stands for
        np.minimum.at(shortest, np.searchsorted(numbers, every), lengths)
        percents = np.minimum(EXACT, EXACT * (common + unread[1]) / np.maximum(shortest, len(words)))  # at most
        most = (percents + EXACT * (values + unread[0]) / max(sum(rarities.values()), 1e-9)) / 2
        apart = np.abs(lengths[first][one] - len(words))
        order = np.lexsort((-numbers, apart, -values))
        return numbers[order[most[order] >= threshold - _ROUNDING]].tolist(), rarities

    def add(self, segments: Sequence[tuple[int, str]]) -> None:
        """Write the postings of new segments: their numbers, rising, and sources."""
        postings = _postings_of(segments)
        ids = self._counted(_counts(postings))
        block = segments[0][0] if segments else 0
        self._connection.executemany(
            "INSERT INTO postings VALUES (?, ?, ?, ?)",
            sorted((ids[word], length, block, found.tobytes()) for (word, length), found in postings.items()),
        )

    def remove(self, segments: Sequence[tuple[int, str]]) -> None:
        """Take segments out of the postings."""
        postings = _postings_of(segments)
        ids = self._counted(Counter({word: -count for word, count in _counts(postings).items()}))
        for (word, length), numbers in postings.items():
            blocks = "SELECT rowid, segments FROM postings WHERE word = ? AND length = ?"
            for row, block in self._rows(blocks, (ids[word], length)):
                left = np.setdiff1d(np.frombuffer(block, np.uint32), np.asarray(numbers)).tobytes()
                self._connection.execute("UPDATE postings SET segments = ? WHERE rowid = ?", (left, row))

    def tidy(self, added: int) -> None:
        """Count the segments in small blocks; once they are many, make one block of all small ones of a word."""
        if added >= _LOOSE:
            return
        self._connection.execute("UPDATE facts SET value = value + ? WHERE name = 'loose'", (added,))
        if self._rows("SELECT value FROM facts WHERE name = 'loose'")[0][0] < _LOOSE:
            return
        self._connection.execute("UPDATE facts SET value = 0 WHERE name = 'loose'")
        several = "SELECT word, length FROM postings GROUP BY word, length HAVING count(*) > 1"
        rows = self._rows(
            "SELECT rowid, word, length, block, segments FROM postings"
            f" WHERE length(segments) < {4 * _LOOSE} AND (word, length) IN ({several})"
        )
        joined = defaultdict[tuple[int, int], list[tuple[int, bytes]]](list)
        for _, word, length, block, segments in rows:
            joined[word, length].append((block, segments))
        self._connection.executemany("DELETE FROM postings WHERE rowid = ?", ((row[0],) for row in rows))
        self._connection.executemany(
            "INSERT INTO postings VALUES (?, ?, ?, ?)",
            ((*key, found[0][0], b"".join(part for _, part in sorted(found))) for key, found in sorted(joined.items())),
        )

    def _known(self, words: Iterable[str]) -> list[Any]:
        """Return number, word and count of the words that segments have, the rarest first."""
        distinct = [*dict.fromkeys(words)]
        holes = ",".join("?" * len(distinct))
        return self._rows(f"SELECT id, word, count FROM words WHERE word IN ({holes}) ORDER BY count", distinct)

    def _postings(self, word: int, lengths: tuple[int, int]) -> Numbers:
        """Return the numbers of segments with a word, in order; `lengths`: least and most words."""
        rows = self._rows("SELECT segments FROM postings WHERE word = ? AND length BETWEEN ? AND ?", (word, *lengths))
        return _sorted(np.frombuffer(b"".join(row[0] for row in rows), np.uint32))

    def _counted(self, counts: Counter[str]) -> dict[str, int]:
        """Add to the numbers of segments that have words, and return the words' own numbers."""
        self._connection.executemany(
            "INSERT INTO words (word, count) VALUES (?, ?)"
            " ON CONFLICT (word) DO UPDATE SET count = count + excluded.count",
            counts.items(),
        )
        known, names = dict[str, int](), iter(counts)
        while some := [*islice(names, HOLES)]:
            known |= self._rows(f"SELECT word, id FROM words WHERE word IN ({','.join('?' * len(some))})", some)
        return known

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        return self._connection.execute(statement, values).fetchall()


def _postings_of(segments: Iterable[tuple[int, str]]) -> dict[tuple[str, int], Any]:
    """Numbers and sources of segments → the numbers of those that have a word, by the number of their words."""
    postings = defaultdict[tuple[str, int], Any](lambda: array("I"))
    for number, source in segments:
        words = segment_words(source)
        for word in set(words):
            postings[word, len(words)].append(number)
    return postings


def _counts(postings: Mapping[tuple[str, int], Sequence[int]]) -> Counter[str]:
    counts = Counter[str]()
    for (word, _), found in postings.items():
        counts[word] += len(found)
    return counts


def _sorted(numbers: Numbers) -> Numbers:
    """Sort numbers made of few increasing runs, which a merging sort takes as they are."""
    return np.sort(numbers, kind="stable")
