"""One served model: its process, restarted when it ends, and admission of requests."""

import asyncio
import ctypes
import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.config import settings_folder
from regard.config.versions import POINTER, VERSION_FOLDER
from regard.documents.unknown_words import unknown_script
from regard.errors import RegardError
from regard.results import Prediction, TextPrediction
from regard.runtime import RuntimeTranslator
from regard.runtime.engine import EngineHypothesis, SearchRules
from regard.runtime.loops import loop_of
from regard.serve.engine.capacity import Batched, Limits, Watcher, cores, direct_requests, threads_each
from regard.serve.engine.faults import Busy, NotReady, TooCostly, TooLate
from regard.serve.engine.lanes import HEED, Lanes
from regard.serve.engine.messages import CountTexts, Job, Said, Shortcut, TextCost
from regard.serve.engine.pipe import Gone, Pipe
from regard.serve.engine.questions import SHORT_PIECES, Predict, QuestionRow
from regard.serve.engine.waiting import Miscounted, counted
from regard.text.clean import clean

PORTION = 4  # a request has at most this part of the queue waiting at once: a fourth
LARGE_REQUESTS = 3  # large requests at once; the rest of the queue is left to small ones
SLOW_SEARCH = 0.05  # seconds of processor from which the model's process searches, as the server does nothing meanwhile
QUICK_SEARCH = 0.002  # seconds up to which a thread of the server is done sooner than the model's process
QUICK_REQUESTS = 8  # requests at hand at most that threads of the server search: more share batches
_PLAIN = Predict(())
_COUNTED = 10_000  # characters tokenized at a time
_SOON = 2  # retry after these seconds while a model is loaded
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a restart of a process

_UNREAD = (".lock", "metrics.jsonl", POINTER)  # of a run: they do not affect the answers of one version
_UNREAD_FOLDERS = ("data", "engines", VERSION_FOLDER)

Fingerprint = frozenset[tuple[str, int, int, int]]

log = logging.getLogger("regard.serve")


class Engine:
    """A served run. A separate process loads the model, so this object needs no torch."""

    def __init__(self, run: Path, *, name: str | None = None, limits: Limits | None = None) -> None:
        self.run, self.name, self.limits = run, name or run_name(run), limits or Limits()
        self.cards: Mapping[str, Mapping[str, Any]] = {}  # of its model, by route, after the start; the first: ""
        self._lanes = Lanes(self.limits)
        self._counted = 0  # texts being tokenized
        self._pipe: Pipe | None = None
        self.requests_at_hand: Callable[[], int] = lambda: 1  # of the server, this one among them
        self._most_direct = direct_requests() if self.limits.direct_search is None else self.limits.direct_search
        self._direct: DirectSearch | None = None
        self._life: asyncio.Task[None] | None = None
        self._large = 0  # accepted requests of several portions, not yet answered
        self._warm = False
        self._folder: Path | None = None  # the version of the run that is loaded, also after a restart
        self._loaded: Fingerprint = frozenset()  # of its files, taken before the load

    def __repr__(self) -> str:
        return f"Engine({self.name}, {'ready' if self.ready else 'not ready'})"

    @property
    def ready(self) -> bool:
        """Return True if it takes requests: loaded, warmed up, and its process has not ended."""
        return self._warm and self._pipe is not None and self._pipe.alive

    @property
    def queue_size(self) -> int:
        """Number of waiting texts."""
        return self._lanes.queue_size + self._counted

    @property
    def busy(self) -> int:
        """Seconds to wait for room for one more text; 0: there is room."""
        return self._busy(1)

    @property
    def threads(self) -> int:
        """Number of parallel batches, one for each core."""
        return self.limits.threads or threads_each(cores(), 1)

    @property
    def in_flight(self) -> int:
        """Number of texts in progress."""
        return self._lanes.in_flight

    @property
    def pid(self) -> int | None:
        """PID of the model's process; None while there is none."""
        return None if self._pipe is None else self._pipe.process.pid

    @property
    def watchers(self) -> list[Watcher]:
        """Functions called after every batch."""
        return self._lanes.watchers

    async def start(self) -> None:
        """Wait until the model is loaded; `ready` follows after warm-up. Raises RegardError if it fails."""
        await self._load()
        self._life = asyncio.create_task(self._live(), name=f"engine {self.name}")

    async def ask(self, question: QuestionRow, *, seconds: float = 30.0) -> list[Prediction]:
        """Return one prediction per text, in order; the model must begin with each within `seconds`.

        An explanation must finish in that time. A cancelled call drops its work. Raises Busy, NotReady, TooLate,
        TooLong, TooCostly, Unreadable, OutOfMemory or Failed.
        """
        if question.late is None:
            return await self._accept(question, seconds)
        try:
            async with asyncio.timeout(seconds):
                return await self._accept(question, seconds)
        except TimeoutError:
            raise TooLate(question.late) from None

    def renewed(self) -> "Engine | None":
        """Return an engine of the same run and name, not yet started; None where no file of the run has changed."""
        with suppress(RegardError, OSError):  # else the new engine reports the fault
            if fingerprint(self._in_use()) == self._loaded:
                return None
        return Engine(self.run, name=self.name, limits=self.limits)

    def other_version(self) -> Path | None:
        """Return the folder of the version in use, if it is not the loaded one; None also where it cannot be read."""
        with suppress(RegardError, OSError):
            folder = self._in_use()
            return None if self._folder in (None, folder) else folder
        return None

    def _in_use(self) -> Path:
        """Return the folder to load: of a run with versions the one in use; an export has none."""
        return settings_folder(self.run) if self.limits.engine is None else self.run

    async def stop(self) -> None:
        """End the process; waiting requests fail with NotReady."""
        self._warm = False
        if self._life is not None:
            self._life.cancel()
            await asyncio.wait([self._life])
        self._lanes.fail(_not_ready)
        await self._close()

    async def _accept(self, question: QuestionRow, seconds: float) -> list[Prediction]:
        if not self.ready:
            raise _not_ready()
        texts = question.texts
        portion = max(min(len(texts), self.limits.max_queue // PORTION), 1)
        large = len(texts) > portion
        later = self._busy(portion)
        if later or (large and self._large >= LARGE_REQUESTS):
            raise Busy(later or self._lanes.seconds())
        until = asyncio.get_running_loop().time() + seconds
        self._large += large
        starts = range(0, len(texts), portion)
        portions = {first: question.of(texts[first : first + portion]) for first in starts} if large else {0: question}
        try:
            return await self._answers(portions if texts else {}, until)
        finally:
            self._large -= large

    async def _answers(self, portions: Mapping[int, QuestionRow], until: float) -> list[Prediction]:
        """Return the costs in order. A short text alone is not tokenized first: that saves half a millisecond."""
        if len(portions) == 1 and (size := portions[0].guess) is not None:
            if (direct := await self._search_directly(portions[0])) is not None:
                return [direct]
            if not self.ready:  # the process may have ended meanwhile
                raise _not_ready()
            with suppress(Miscounted):
                return [*(await self._lanes.answer(portions[0], {0: TextCost(size)}, until, guessed=True)).values()]
        counts = [await self._count(some, first, until) for first, some in portions.items()]
        total, most = sum(one.pieces for sizes, _ in counts for one in sizes.values()), self.limits.max_cost
        if total > most:
            raise TooCostly("the request costs", total, most, "ask for less text, n_best or prefix at a time")
        if counts and (lane := self._lanes.crowded(one.pieces for one in counts[0][0].values())) is not None:
            raise Busy(self._lanes.seconds(lane))
        found = list[Prediction]()
        for (first, some), (sizes, copied) in zip(portions.items(), counts, strict=True):
            answers = copied | await self._lanes.answer(some, sizes, until, before=first)
            found += [answers[place] for place in range(len(some.texts))]
        return found

    async def _search_directly(self, question: QuestionRow) -> Prediction | None:
        """Return the answer to a short text, without the model's process; None where that process has it.

        A lone text is searched at once, a few in threads of the server, if that is quicker than a batch.
        """
        direct, at_hand = self._direct, self.requests_at_hand()
        if direct is None or self.queue_size or self.in_flight:
            return None
        several = at_hand > self._most_direct
        if several and (self.limits.direct_search is not None or at_hand > QUICK_REQUESTS or not direct.quick):
            return None
        answered = await direct.answer(question, in_thread=several)
        if direct.latest > SLOW_SEARCH and self._direct is direct:
            log.warning("%s: a search took %.2f s: the model's process has all from here on", self.name, direct.latest)
            self._direct = None
        if answered is None:
            return None
        for watcher in self.watchers:
            watcher(answered[1])
        return answered[0]

    def _busy(self, texts: int) -> int:
        """Return `busy` for a number of texts."""
        return self._lanes.seconds() if self._lanes.full(self._counted + texts) else 0

    async def _count(
        self, question: QuestionRow, before: int, until: float
    ) -> tuple[dict[int, TextCost], dict[int, Prediction]]:
        """Return `counted` costs. Meanwhile the texts count as short ones that wait."""
        pipe, texts = self._pipe, question.texts
        if not self.ready or pipe is None:  # it may have ended between two portions
            raise _not_ready()
        self._counted += len(texts)
        said = list[Said]()
        try:
            async with asyncio.timeout_at(until):
                for some in _countable(question):
                    said.append(await pipe.ask(CountTexts(question=question.of(texts[some]))))
        except TimeoutError:
            raise TooLate from None
        except Gone:
            raise _not_ready() from None
        finally:
            self._counted -= len(texts)
        return counted(said, before)

    async def _load(self) -> Pipe:
        limits = self.limits
        folder = self._folder = self._folder or self._in_use()
        job = Job(
            run=str(folder),
            threads=self.threads,
            batch_tokens=limits.max_batch_tokens,
            changes=limits.changes,
            engine=limits.engine,
        )
        loaded = await asyncio.to_thread(fingerprint, folder)
        self._pipe, opened = await Pipe.open(job, self.limits)
        self.cards, self._loaded, self._direct = opened.cards, loaded, None
        if opened.shortcut is not None and self._most_direct:
            with suppress(ValueError, OSError, LookupError, TypeError):  # without it the process answers
                alphabet = opened.cards[""].get("alphabet", "")
                self._direct = await asyncio.to_thread(DirectSearch, folder, opened.shortcut, alphabet)
        return self._pipe

    async def _live(self) -> None:
        """Work as long as the process lives, and start another one when it ends."""
        pause = FIRST_PAUSE
        while True:
            try:
                pipe = self._pipe or await self._load()
                self._lanes.warmed(await pipe.warm())
                self._warm, pause = True, FIRST_PAUSE
                await self._lanes.work(pipe, self.threads)
            except Gone as error:
                log.error("%s: the process of the model has ended (%s); restarting", self.name, error)
            except RegardError as error:
                log.error("%s: restart failed: %s", self.name, error)
            except Exception:  # a bug must not leave requests without an answer
                log.exception("%s: unexpected error; restarting the process of the model", self.name)
            self._warm = False
            self._lanes.fail(_not_ready)
            await self._close()
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _close(self) -> None:
        if self._pipe is not None:
            await self._pipe.close()
            self._pipe = None


class DirectSearch:
    """An export to runtime, opened in the server: for a lone short text the way to the model's process takes as long.

    It has weights of its own, which no other program can cut or change: a fault there would end the whole server.
    """

    def __init__(self, folder: Path, shortcut: Shortcut, alphabet: Collection[str]) -> None:
        """Raise ValueError or OSError for a folder that is gone or has changed."""
        self._translator = RuntimeTranslator(folder, threads=1, library=ctypes.CDLL(shortcut.library), mapped=False)
        self._rules, self._alphabet, self._longest = SearchRules(**shortcut.rules), frozenset(alphabet), shortcut.pieces
        threads = cores() - 1  # one core is the server's
        self._pool = ThreadPoolExecutor(threads, "search") if threads else None
        self.latest = self.seconds = 0.0  # of processor for a search: of the latest, and a moving average

    @property
    def quick(self) -> bool:
        """Return whether searches in threads are worth it: there is a core for them, and they take little time."""
        return self._pool is not None and 0 < self.seconds < QUICK_SEARCH

    async def answer(self, question: QuestionRow, *, in_thread: bool = False) -> tuple[TextPrediction, Batched] | None:
        """Return the answer of the model's process, and the measures of this batch of one; None: ask that process.

        That process has what asks for more than the best translation of a short text, and what safeguards change.
        `in_thread`: the server goes on meanwhile.
        """
        text, *_ = question.texts
        if question.of(()) != _PLAIN or text.similar:
            return None
        source, began = clean(text.source), time.perf_counter()
        if not source.strip() or unknown_script(source, self._alphabet):
            return None
        try:
            ids = self._translator.ids(source, 1)
            if len(ids) > min(self._longest, SHORT_PIECES) + 1:
                return None
            loop = asyncio.get_running_loop()
            search = await loop.run_in_executor(self._pool, self._search, ids) if in_thread else self._search(ids)
        except (ValueError, TypeError, LookupError, MemoryError, RuntimeError):  # the last: no further thread
            return None
        best, self.latest, taken = search
        self.seconds += (HEED if self.seconds else 1.0) * (self.latest - self.seconds)
        if loop_of(best.ids) is not None:
            return None
        read, written = self._translator.source.decode(ids[:-1]), self._translator.target.decode(best.ids)
        own = best.log_probs[: len(best.ids) + best.finished]  # without that of an end forced by the limit
        found = TextPrediction(read, written, best.score, own, best.finished, ids=best.ids)
        sure = [] if found.confidence is None else [found.confidence]
        waited = time.perf_counter() - began - taken if in_thread else 0.0
        return found, Batched(1, len(ids), time.perf_counter() - began - waited, waited, 0, sure)

    def _search(self, ids: Sequence[int]) -> tuple[EngineHypothesis, float, float]:
        """Return the best translation, and the seconds that it took of the processor and of the clock."""
        used, began = time.thread_time(), time.perf_counter()
        ((best,),) = self._translator.searched([ids], self._rules)
        return best, time.thread_time() - used, time.perf_counter() - began


def fingerprint(run: Path) -> Fingerprint:
    """Return the identity of a run's files without their contents: path, inode, size, time of change.

    In a folder of a running training only the checkpoints count.
    """
    found = set[tuple[str, int, int, int]]()
    for folder, folders, names in os.walk(run.resolve()):
        folders[:] = [name for name in folders if name not in _UNREAD_FOLDERS]
        for name in names:
            if name not in _UNREAD:
                path = os.path.join(folder, name)
                with suppress(OSError):  # deleted meanwhile
                    status = os.stat(path)
                    found.add((path, status.st_ino, status.st_size, status.st_mtime_ns))
    return frozenset(found)


def _countable(question: QuestionRow) -> Iterator[slice]:
    """Yield portions of few characters: a model's process reads no message while it tokenizes."""
    first, characters = 0, 0
    for place, text in enumerate(question.texts):
        size = len(text.source) + len(text.target)
        if place > first and characters + size > _COUNTED:
            yield slice(first, place)
            first, characters = place, 0
        characters += size
    yield slice(first, len(question.texts))


def run_name(run: Path) -> str:
    """Return the name of a run: its folder, or the demo's folder around it."""
    path = run.resolve()
    return path.parent.name if path.name == "model" else path.name


def _not_ready() -> NotReady:
    return NotReady(_SOON)
