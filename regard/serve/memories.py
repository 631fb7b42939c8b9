"""Translation memories of the server, one for each pair of languages."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from regard.documents.sentences import sentences
from regard.errors import ConfigError, DataError
from regard.memory import Recall, TranslationMemory, TranslationUnit, recall
from regard.memory.reuse import MATCHES, MAX_SEARCHED, SentenceMatches
from regard.memory.similarity import EXACT
from regard.results import MemoryMatch
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

_ORIGIN = "server"  # of confirmed segments

_LOG = logging.getLogger("regard.serve")
_X = TypeVar("_X")
_T = TypeVar("_T")


class Sought(NamedTuple):
    """A text and its sentences."""

    text: str  # "": only its sentences are looked up
    sentences: Sequence[str]
    before: str = ""  # the sentence before it


class ServedMemory:
    """A memory of one pair of languages. If it cannot be read, a warning is logged and nothing is found.

    Look-ups of exact matches, searches for similar segments, and segments that are added take turns on a connection of
    their own each, so that none waits for another kind.
    """

    def __init__(self, path: Path, threshold: int) -> None:
        """Open the file. Raises DataError for a missing file, or one of another kind."""
        self.path, self.threshold = path, threshold
        self._exact, self._similar = _Reader(path), _Reader(path)
        self._writer: TranslationMemory | None = None
        self._adds = ThreadSlots(1)
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

        def searched(memory: TranslationMemory, some: Sequence[str]) -> list[list[MemoryMatch]]:
            known = [len(text) <= MAX_SEARCHED and text.strip() for text in some]
            return [
                memory.search(text, threshold=wanted, limit=limit) if is_known else []
                for text, is_known in zip(some, known, strict=True)
            ]

        found = await self._in_turns(self._similar, searched, texts, _SEARCH_SECONDS)
        return [*found, *([] for _ in texts[len(found) :])]

    async def recall(
        self, texts: Sequence[Sought], *, similar: bool = False, seconds: float = _SEARCH_SECONDS
    ) -> list[Recall | None]:
        """Return the matches of each text; None for those that could not be looked up, for a fault or a time limit.

        Args:
            texts: Texts and their sentences, whose exact matches are looked up.
            similar: Then search for segments that are similar to at most 128 other sentences.
            seconds: Time limit of the exact matches.
        """
        found = await self._in_turns(self._exact, _exact, texts, seconds)
        if similar and len(found) == len(texts):
            await self._add_similar(found, texts)
        return [*found, *(None for _ in texts[len(found) :])]

    async def recall_file(self, texts: Sequence[str]) -> tuple[SentenceMatches, bool]:
        """Return the exact matches of each sentence of a file; False if some could not be looked up."""
        parts = [
            Sought("", texts[first : first + _PART], texts[first - 1] if first else "")
            for first in range(0, len(texts), _PART)
        ]
        recalls = await self.recall(parts, seconds=_FILE_SECONDS)
        found: list[SentenceMatches] = [
            one.matches if one is not None else [[] for _ in part.sentences]
            for part, one in zip(parts, recalls, strict=True)
        ]
        return [one for part in found for one in part], None not in recalls

    async def _add_similar(self, found: Sequence[Recall], texts: Sequence[Sought]) -> None:
        rest = [
            (one.matches, place, sentence)
            for one, text in zip(found, texts, strict=True)
            for place, sentence in enumerate(() if one.whole else text.sentences)
            if not one.matches[place]
        ][:MOST_SEARCHED]
        others = await self.search([sentence for _, _, sentence in rest])
        for (matches, place, _), more in zip(rest, others, strict=True):
            matches[place] = more

    async def _in_turns(
        self,
        reader: "_Reader",
        searched: Callable[[TranslationMemory, Sequence[_X]], list[_T]],
        items: Sequence[_X],
        seconds: float,
    ) -> list[_T]:
        """Return what is found for each item, in turn with other requests; fewer after a time limit or a fault."""

        def some(few: Sequence[_X]) -> list[_T]:
            return searched(reader.opened(), few)

        found = list[_T]()
        try:
            async with asyncio.timeout(seconds):
                for first in range(0, len(items), _TURN):
                    found += await reader.slot.work(some, items[first : first + _TURN])
        except DataError as error:
            reader.memory = None  # the next search opens the file again
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
            self._writer = _opened(self.path, self._writer, _ADD_SECONDS)
            self._writer.add(units, newest=True)

        try:
            await self._adds.work(added)
        except DataError as error:
            self._writer = None
            self._warn(str(error))
            return False
        return True

    def close(self) -> None:
        """Close the file."""
        for memory in (self._exact.memory, self._similar.memory, self._writer):
            if memory is not None:
                memory.close()

    def _warn(self, problem: str) -> None:
        now = time.monotonic()
        if now - self._warned >= _LOG_SECONDS:
            self._warned = now
            _LOG.warning("memory: %s", problem)


class _Reader:
    """A connection that reads a file, for one search at a time."""

    def __init__(self, path: Path) -> None:
        self.path, self.slot = path, ThreadSlots(1)
        self.memory: TranslationMemory | None = None

    def opened(self) -> TranslationMemory:
        """Return the open memory."""
        self.memory = _opened(self.path, self.memory, _SEARCH_SECONDS)
        return self.memory


def _opened(path: Path, known: TranslationMemory | None, seconds: float) -> TranslationMemory:
    """Return an open memory; a new one if the file was replaced."""
    return TranslationMemory(path, seconds=seconds) if known is None or known.replaced else known


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

    def of(self, source: str, target: str) -> ServedMemory | None:
        """Return the memory of a pair of languages, in any spelling; None where there is none."""
        return self._pairs.get((inward(source), inward(target)))

    def close(self) -> None:
        """Close the files."""
        for memory in self._pairs.values():
            memory.close()

    def to_add(self, source: str, target: str) -> ServedMemory | None:
        """Return the memory of a pair of languages that clients may add to; None where there is none."""
        return self.of(source, target) if self.writable else None


def _exact(memory: TranslationMemory, texts: Sequence[Sought]) -> list[Recall]:
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
