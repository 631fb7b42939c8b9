"""Translation memories of the server, one for each pair of languages."""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.documents.sentences import sentences
from regard.errors import ConfigError, DataError
from regard.memory import TranslationMemory, TranslationUnit
from regard.results import MemoryMatch
from regard.serve.in_thread import ThreadSlots, in_thread
from regard.serve.languages import inward, outward

_MATCHES = 3  # of a text that are reported
_TURN = 8  # texts searched before another request has its turn
_SEARCH_SECONDS = 2.0  # time limit of the searches of a request; texts after it have no matches
_ADD_SECONDS = 10.0  # wait for another program that writes
_LONGEST = 2_000  # characters of a text that similar segments are searched for; a longer one has exact matches alone
_LOG_SECONDS = 60.0  # between two warnings of one memory

_ORIGIN = "server"  # of confirmed segments

_LOG = logging.getLogger("regard.serve")


class ServedMemory:
    """A memory of one pair of languages. If it cannot be read, a warning is logged and nothing is found.

    Searches take turns on a connection of their own, so that they never wait for a segment that is added.
    """

    def __init__(self, path: Path, threshold: int) -> None:
        """Open the file. Raises DataError for a missing file, or one of another kind."""
        self.path, self.threshold = path, threshold
        self._reader: TranslationMemory | None = self._opened(_SEARCH_SECONDS)
        self._writer: TranslationMemory | None = None
        self._searches, self._adds = ThreadSlots(1), ThreadSlots(1)
        self._warned = -_LOG_SECONDS
        self.languages = (inward(self._reader.languages[0]), inward(self._reader.languages[1]))

    async def search(
        self, texts: Sequence[str], *, before: Sequence[str] = (), threshold: int | None = None, limit: int = _MATCHES
    ) -> list[list[MemoryMatch]]:
        """Return the segments most like each text, best first; none after a time limit, and none on a fault.

        Args:
            texts: Source texts; empty ones have no matches.
            before: The text before each in its document, for matches in context.
            threshold: Minimum similarity in per cent, 1 to 100; None: the server's.
            limit: Maximum number of matches of a text.
        """
        wanted, found = self.threshold if threshold is None else threshold, list[list[MemoryMatch]]()
        pairs = [*zip(texts, before or [""] * len(texts), strict=True)]

        def searched(some: Sequence[tuple[str, str]]) -> list[list[MemoryMatch]]:
            memory = self._reader = self._reader or self._opened(_SEARCH_SECONDS)
            return [
                memory.search(text, before=one, threshold=wanted if len(text) <= _LONGEST else 100, limit=limit)
                if text.strip()
                else []
                for text, one in some
            ]

        try:
            async with asyncio.timeout(_SEARCH_SECONDS):
                for first in range(0, len(pairs), _TURN):
                    found += await self._searches.work(searched, pairs[first : first + _TURN])
        except DataError as error:
            self._reader = None  # the next search opens the file again
            self._warn(str(error))
        except TimeoutError:
            self._warn(f"no answer within {_SEARCH_SECONDS:g} seconds")
        return [*found, *([] for _ in pairs[len(found) :])]

    async def add(self, units: Sequence[TranslationUnit]) -> bool:
        """Add segments, which the next request finds as the newest; return False if they are not stored."""

        def added() -> None:
            self._writer = self._writer or self._opened(_ADD_SECONDS)
            self._writer.add(units, newest=True)

        try:
            await self._adds.work(added)
        except DataError as error:
            self._writer = None
            self._warn(str(error))
            return False
        return True

    def _opened(self, seconds: float) -> TranslationMemory:
        return TranslationMemory(self.path, seconds=seconds)

    def _warn(self, problem: str) -> None:
        now = time.monotonic()
        if now - self._warned >= _LOG_SECONDS:
            self._warned = now
            _LOG.warning("translating without the memory: %s", problem)


class Memories:
    """The memories of a server, by their languages in normal form."""

    def __init__(self, files: Iterable[Path], threshold: int) -> None:
        """Open the files. Raises DataError for one that is not a memory, ConfigError for two of one pair."""
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


async def confirm(memories: Memories, pair: tuple[str, str], source: str, target: str, author: str = "") -> bool:
    """Store a translation that a user confirmed, and return True if it is stored; False also without a memory.

    A text of several sentences is stored sentence by sentence where its translation has as many, else as one segment.
    """
    memory = memories.of(*pair)
    if memory is None or not source.strip() or not target.strip():
        return False
    return await memory.add(await in_thread(len(source), _units, pair, source, target, author))


def _units(pair: tuple[str, str], source: str, target: str, author: str) -> list[TranslationUnit]:
    parts = [
        [text[start:end] for start, end in sentences(text, language=code)]
        for text, code in zip((source, target), pair, strict=True)
    ]
    read, written = parts if len(parts[0]) == len(parts[1]) else ([source], [target])
    sides = zip(read, written, ["", *read], strict=False)
    return [TranslationUnit(one, other, before, _ORIGIN, author) for one, other, before in sides]
