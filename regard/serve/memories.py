"""Translation memories of the server, one for each pair of languages."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from regard.documents.sentences import sentences
from regard.errors import ConfigError, DataError
from regard.memory import MATCHES, Recall, TranslationMemory, TranslationUnit
from regard.memory.reuse import MAX_SEARCHED, recall
from regard.memory.similarity import EXACT
from regard.results import MemoryMatch
from regard.serve.engine.questions import GivenText, Similar
from regard.serve.in_thread import ThreadSlots, in_thread
from regard.serve.languages import inward, outward

_PART = 64  # sentences of a file that are looked up together
_TURN = 8  # texts searched before another request has its turn
_SEARCH_SECONDS = 2.0  # time limit of the searches of a request; texts after it have no matches
_FILE_SECONDS = 20.0  # the same, of a file
_ADD_SECONDS = 10.0  # wait for another program that writes
MOST_SEARCHED = 128  # sentences of a request that similar segments are searched for; exact matches have no limit
_MOST_BYTES = 2**33  # of a file to which clients may add
READ_ONLY = "The translation memories of this server are read-only."
_LOG_SECONDS = 60.0  # between two warnings of one memory

_READ_PATIENCE = 5  # time limit of the segments that a model reads, in multiples of that of exact matches
_UNSEARCHED = "the translation memory could not be searched: confirmed translations may be missing"
_UNREAD = (
    "the translation memory could not be searched in time: the model read similar segments of some sentences alone"
)

_ORIGIN = "server"  # of confirmed segments

_LOG = logging.getLogger("regard.serve")
_X = TypeVar("_X")
_T = TypeVar("_T")


class MemoryQuery(NamedTuple):
    """A text and its sentences."""

    text: str  # "": only its sentences are looked up
    sentences: Sequence[str]
    before: str = ""  # the sentence before it


class MemoryAnswer(NamedTuple):
    """Segments of a memory for a text: to reuse, to report and to read."""

    recall: Recall | None  # to reuse and to report; None: it could not be looked up
    read: Sequence[Similar] = ()  # segments that the model reads with each sentence; (): with none
    problem: str = ""  # why something may be missing

    @classmethod
    def of(
        cls, matches: Sequence[list[MemoryMatch]], read: Sequence[Similar] = (), problem: str = ""
    ) -> "MemoryAnswer":
        """Return what is known of a text by its sentences."""
        return cls(Recall(whole=False, matches=[*matches]), read, problem)

    def matches(self, texts: Sequence[str]) -> list[list[MemoryMatch]]:
        """Return the matches of each sentence of a text."""
        return [[] for _ in texts] if self.recall is None else self.recall.matches

    def with_similar(self, texts: Sequence[str], places: Iterable[int]) -> tuple[GivenText, ...]:
        """Return some texts of sentences, each with the segments that the model reads with it."""
        return tuple(GivenText(texts[place], similar=self.read[place] if self.read else ()) for place in places)


class ServedMemory:
    """A memory of one pair of languages. If it cannot be read, a warning is logged and nothing is found.

    Look-ups of exact matches, searches for similar segments, and segments that are added take turns on a connection of
    their own each, so that none waits for another kind.
    """

    def __init__(self, path: Path, threshold: int) -> None:
        """Open the file. Raises DataError for a missing file, or one of another kind."""
        self.path, self.threshold = path, threshold
        self._exact, self._similar = _Connection(path, _SEARCH_SECONDS), _Connection(path, _SEARCH_SECONDS)
        self._writer = _Connection(path, _ADD_SECONDS)
        self._warned = -_LOG_SECONDS
        source, target = self._exact.opened().languages
        self.languages = (inward(source), inward(target))

    async def search(
        self, texts: Sequence[str], *, threshold: int | None = None, limit: int = MATCHES
    ) -> list[list[MemoryMatch]]:
        """Return the segments most like each text, best first; none after a time limit, and none on a fault.

        Args:
            texts: Source texts; empty ones and those of more than 2,000 characters have no matches.
            threshold: Minimum similarity in per cent, 1 to 100; None: the server's.
            limit: Maximum number of matches of a text.
        """
        wanted = self.threshold if threshold is None else threshold
        found = await self._searched(texts, wanted, limit, _SEARCH_SECONDS)
        return [*found, *([] for _ in texts[len(found) :])]

    async def _searched(
        self, texts: Sequence[str], threshold: int, limit: int, seconds: float
    ) -> list[list[MemoryMatch]]:
        """Return the segments most like each text; those of fewer texts after a time limit or a fault."""

        def searched(memory: TranslationMemory, some: Sequence[str]) -> list[list[MemoryMatch]]:
            known = [len(text) <= MAX_SEARCHED and text.strip() for text in some]
            return [
                memory.search(text, threshold=threshold, limit=limit) if is_known else []
                for text, is_known in zip(some, known, strict=True)
            ]

        return await self._in_turns(self._similar, searched, texts, seconds)

    async def recall(
        self,
        texts: Sequence[MemoryQuery],
        *,
        similar: bool = False,
        reads: Sequence[int] | None = None,
        seconds: float = _SEARCH_SECONDS,
    ) -> list[MemoryAnswer]:
        """Return what is known of each text; for a fault or a time limit some may be missing.

        Args:
            texts: Texts and their sentences, whose exact matches are looked up.
            similar: Then search for segments that are similar to at most 128 other sentences, and report them.
            reads: Minimum similarity and maximum number of the segments that a model reads with each sentence.
            seconds: Time limit of the exact matches.
        """
        exact = await self._in_turns(self._exact, _exact, texts, seconds)
        if len(exact) < len(texts):
            return [*map(MemoryAnswer, exact), *(MemoryAnswer(None, problem=_UNSEARCHED) for _ in texts[len(exact) :])]
        if reads is not None:
            return await self._with_read(exact, texts, reads, similar=similar, seconds=_READ_PATIENCE * seconds)
        if similar:
            await self._add_similar(exact, texts)
        return [*map(MemoryAnswer, exact)]

    async def recall_file(self, texts: Sequence[str], reads: Sequence[int] | None = None) -> MemoryAnswer:
        """Return what is known of the sentences of a file; `reads` as of `recall`."""
        parts = [
            MemoryQuery("", texts[first : first + _PART], texts[first - 1] if first else "")
            for first in range(0, len(texts), _PART)
        ]
        recalls = await self.recall(parts, reads=reads, seconds=_FILE_SECONDS)
        matches, read = list[list[MemoryMatch]](), list[Similar]()
        for part, one in zip(parts, recalls, strict=True):
            matches += one.recall.matches if one.recall is not None else [[] for _ in part.sentences]
            read += one.read or [()] * len(part.sentences)
        return MemoryAnswer.of(matches, read, next((one.problem for one in recalls if one.problem), ""))

    async def _add_similar(self, found: Sequence[Recall], texts: Sequence[MemoryQuery]) -> None:
        rest = _without_match(found, texts)[:MOST_SEARCHED]
        others = await self.search([sentence for _, _, sentence in rest])
        for (number, place, _), more in zip(rest, others, strict=True):
            found[number].matches[place] = more

    async def _with_read(
        self, found: list[Recall], texts: Sequence[MemoryQuery], reads: Sequence[int], *, similar: bool, seconds: float
    ) -> list[MemoryAnswer]:
        """Return what is known with the segments that a model reads; `similar`: those are reported, too."""
        (least, most), rest, read = reads, _without_match(found, texts), dict[tuple[int, int], Similar]()
        threshold, limit = min(least, self.threshold), max(MATCHES, most)
        others = await self._searched([sentence for _, _, sentence in rest], threshold, limit, seconds)
        for (number, place, _), more in zip(rest, others, strict=False):  # after a time limit fewer
            chosen = [one._replace(differs=[]) for one in more if one.percent >= least and not one.exact][:most]
            read[number, place] = tuple(chosen)
            if similar:
                found[number].matches[place] = [one for one in more if one.percent >= self.threshold][:MATCHES]
        late = {number for number, _, _ in rest[len(others) :]}
        return [
            MemoryAnswer(
                one,
                [read.get((number, place), ()) for place in range(len(one.matches))],
                _UNREAD if number in late else "",
            )
            for number, one in enumerate(found)
        ]

    async def _in_turns(
        self,
        connection: "_Connection",
        searched: Callable[[TranslationMemory, Sequence[_X]], list[_T]],
        items: Sequence[_X],
        seconds: float,
    ) -> list[_T]:
        """Return what is found for each item, in turn with other requests; fewer after a time limit or a fault."""

        def some(few: Sequence[_X]) -> list[_T]:
            return searched(connection.opened(), few)

        found = list[_T]()
        try:
            async with asyncio.timeout(seconds):
                for first in range(0, len(items), _TURN):
                    found += await connection.slot.work(some, items[first : first + _TURN])
        except DataError as error:
            connection.memory = None  # the next search opens the file again
            self._warn(str(error))
        except TimeoutError:
            self._warn(f"no answer within {seconds:g} seconds")
        return found

    async def add(self, units: Sequence[TranslationUnit]) -> bool:
        """Add segments, which the next request finds as the newest; return False if they are not stored."""

        if self.path.exists() and self.path.stat().st_size > _MOST_BYTES:
            self._warn(f"{self.path} has more than {_MOST_BYTES:,} bytes: nothing is added to it")
            return False

        def added() -> None:
            self._writer.opened().add(units, newest=True)

        try:
            await self._writer.slot.work(added)
        except DataError as error:
            self._writer.memory = None
            self._warn(str(error))
            return False
        return True

    async def close(self) -> None:
        """Close the file."""
        for connection in (self._exact, self._similar, self._writer):
            await connection.close()

    def _warn(self, problem: str) -> None:
        now = time.monotonic()
        if now - self._warned >= _LOG_SECONDS:
            self._warned = now
            _LOG.warning("memory: %s", problem)


class _Connection:
    """A connection to a file, for one search or write at a time.

    Args:
        path: The file.
        seconds: Time to wait for another program that writes.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self.path, self.seconds, self.slot = path, seconds, ThreadSlots(1)
        self.memory: TranslationMemory | None = None

    def opened(self) -> TranslationMemory:
        """Return the open memory; a new one if the file was replaced."""
        if self.memory is None or self.memory.replaced:
            self.memory = TranslationMemory(self.path, seconds=self.seconds)
        return self.memory

    async def close(self) -> None:
        """Close the file after the search that still runs: SQLite crashes if its connection goes meanwhile."""
        await self.slot.work(self._close)

    def _close(self) -> None:
        memory, self.memory = self.memory, None
        if memory is not None:
            memory.close()


class Memories:
    """The memories of a server, by their languages in normal form."""

    def __init__(self, files: Iterable[Path], threshold: int, *, writable: bool = True) -> None:
        """Open the files. Raises DataError for one that is not a memory, ConfigError for two of one pair.

        `writable`: clients may add segments.
        """
        self.writable = writable
        self._pairs = dict[tuple[str, str], ServedMemory]()
        for path in files:
            memory = ServedMemory(path, threshold)
            if (other := self._pairs.setdefault(memory.languages, memory)) is not memory:
                names = " → ".join(map(outward, memory.languages))
                problem = f"'{path}' and '{other.path}' are both {names}"
                raise ConfigError("--memory", problem, f"join them: regard memory export {path} -o more.tmx")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Source and target languages of the memories, in normal form."""
        return [*self._pairs]

    def check(self, served: Iterable[tuple[str, ...]]) -> None:
        """Log a warning for a memory of languages, in normal form, that no model translates."""
        translated = [*dict.fromkeys(filter(None, served))]
        problem = "--memory '%s' is %s, which no run translates (the runs: %s): only /tmserver answers from it"
        for pair, memory in self._pairs.items():
            if pair not in translated:
                named, others = (
                    ", ".join(" → ".join(map(outward, one)) for one in some) for some in ([pair], translated)
                )
                _LOG.warning(problem, memory.path, named, others or "no languages")

    def of(self, source: str, target: str) -> ServedMemory | None:
        """Return the memory of a pair of languages, in any spelling; None where there is none."""
        return self._pairs.get((inward(source), inward(target)))

    async def close(self) -> None:
        """Close the files."""
        for memory in self._pairs.values():
            await memory.close()

    def to_add(self, source: str, target: str) -> ServedMemory | None:
        """Return the memory of a pair of languages that clients may add to; None where there is none."""
        return self.of(source, target) if self.writable else None


def _without_match(found: Sequence[Recall], texts: Sequence[MemoryQuery]) -> list[tuple[int, int, str]]:
    """Return the sentences without a match, each after the numbers of its text and of itself."""
    return [
        (number, place, sentence)
        for number, (one, text) in enumerate(zip(found, texts, strict=True))
        for place, sentence in enumerate(() if one.whole else text.sentences)
        if not one.matches[place]
    ]


def _exact(memory: TranslationMemory, texts: Sequence[MemoryQuery]) -> list[Recall]:
    search = memory.exact_search(text for one in texts for text in (one.text, *one.sentences))
    return [recall(search, *one, EXACT) for one in texts]


async def confirm(
    memories: Memories, pair: tuple[str, str], source: str, target: str, author: str = "", *, before: str = ""
) -> int:
    """Store a translation that a user confirmed, and return the number of stored segments; 0 also without a memory.

    A text of several sentences is stored sentence by sentence where its translation has as many, else as one segment.
    """
    memory = memories.to_add(*pair)
    if memory is None or not source.strip() or not target.strip():
        return 0
    units = await in_thread(len(source), _units, pair, source, target, before)
    return len(units) if await memory.add([one._replace(origin=_ORIGIN, author=author) for one in units]) else 0


def _units(pair: tuple[str, str], source: str, target: str, before: str) -> list[TranslationUnit]:
    parts = [
        [text[start:end] for start, end in sentences(text, language=code)]
        for text, code in zip((source, target), pair, strict=True)
    ]
    read, written = parts if len(parts[0]) == len(parts[1]) else ([source], [target])
    return [TranslationUnit(*sides) for sides in zip(read, written, [before, *read[:-1]], strict=True)]
