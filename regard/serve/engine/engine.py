"""One model to ask: its process, which is started anew when it ends, and who may ask it."""

import asyncio
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.results import Prediction
from regard.serve.engine.delivery import Miscounted, counted
from regard.serve.engine.faults import Busy, NotReady, TooCostly, TooLate
from regard.serve.engine.lanes import Lanes, guessed
from regard.serve.engine.options import Limits, Options, Predicts, Watcher, cores, shared
from regard.serve.engine.pipe import Gone, Pipe
from regard.serve.engine.waiting import Texts

PORTION = 4  # what a request waits with at once is no more than this part of the queue: a fourth
LARGE = 3  # requests at once of more than a portion; what they leave of the queue is for small ones
COUNTED = 10_000  # characters whose pieces are counted at a time
SOON = 2  # seconds after which to ask again while a model is loaded
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a process that ended is started again

UNREAD, UNREAD_FOLDER = (".lock", "metrics.jsonl"), "data"  # of a run: what no answer depends on

Fingerprint = frozenset[tuple[str, int, int, int]]

log = logging.getLogger("regard.serve")


class Engine:
    """A run, served. The process of its model loads it; what holds this object needs no torch."""

    def __init__(self, run: Path, *, name: str | None = None, limits: Limits | None = None) -> None:
        self.run, self.name, self.limits = run, name or name_of(run), limits or Limits()
        self.source, self.target = "", ""  # codes of the languages, known once it has started, as the rest is
        self.translates = True
        self.given: Sequence[str] = ()
        self.info: dict[str, Any] = {}
        self.alphabet = frozenset[str]()
        self.routes: dict[str, dict[str, Any]] = {}  # what there is to tell of further pairs of languages, by name
        self._lanes = Lanes(self.limits)
        self._counted = 0  # texts that are being counted
        self._pipe: Pipe | None = None
        self._life: asyncio.Task[None] | None = None
        self._large = 0  # requests of several portions, accepted and not answered
        self._warm = False
        self._loaded: Fingerprint = frozenset()  # of the run's files, just before the model was loaded

    def __repr__(self) -> str:
        return f"Engine({self.name}, {self.source}-{self.target}, {'ready' if self.ready else 'not ready'})"

    @property
    def ready(self) -> bool:
        """Whether it takes requests: loaded, warm, and not seen to have ended."""
        return self._warm and self._pipe is not None and self._pipe.alive

    @property
    def queue_size(self) -> int:
        """Texts that wait."""
        return self._lanes.queue_size + self._counted

    @property
    def busy(self) -> int:
        """Seconds after which to ask again, since there is no room for one more text; 0: there is."""
        return self._busy(1)

    @property
    def threads(self) -> int:
        """Batches at a time, each on a core of its own."""
        return self.limits.threads or shared(cores(), 1)

    @property
    def in_flight(self) -> int:
        """Texts that the model works on."""
        return self._lanes.in_flight

    @property
    def pid(self) -> int | None:
        """Of the model's process, None while there is none."""
        return None if self._pipe is None else self._pipe.process.pid

    @property
    def watchers(self) -> list[Watcher]:
        """Are told of every batch."""
        return self._lanes.watchers

    async def start(self) -> None:
        """Returns when the model is loaded; `ready` follows when it is warm. Raises RegardError if it cannot be."""
        await self._load()
        self._life = asyncio.create_task(self._live(), name=f"engine {self.name}")

    async def predict(self, texts: Sequence[str], options: Options, *, seconds: float = 30.0) -> list[Prediction]:
        """One prediction per text, in order; the model must have begun with each within `seconds`.

        Of several columns that are given a text is the line, with tabs between them.
        Whoever stops waiting is not worked for. Raises Busy, NotReady, TooLate, TooLong, OutOfMemory or Failed.
        """
        return await self._accept(texts, None, options, seconds)

    async def explain(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        by: str = "",
        reasons: Sequence[str] = (),
        steps: bool = False,
        seconds: float = 30.0,
        route: str = "",
    ) -> list[Prediction]:
        """The given targets with their log-probabilities and all that they look at; faults as of `predict`.

        With `by` the words that speak for them, by one of the model's `methods`; with `reasons` by these, besides; with
        `steps` what the search of each source held and dropped.
        """
        options = Options(explain=True, maps=True, by=by, reasons=tuple(reasons), steps=steps, route=route)
        return await self._within(seconds, sources, targets, options)

    async def rewrite(
        self, source: str, target: str, word: int, count: int, *, seconds: float = 30.0, route: str = ""
    ) -> Prediction:
        """The target with alternatives, explained, that have another word in its place; faults as of `predict`."""
        options = Options(n_best=count, explain=True, word=word, route=route)
        [found] = await self._within(seconds, [source], [target], options)
        return found

    def pairs(self) -> Sequence[Predicts]:
        """Itself, and one for each further pair of languages of its model."""
        return [self, *(EngineRoute(self, name, told) for name, told in self.routes.items())]

    def renewed(self) -> "Engine | None":
        """Return an engine of the same run and name, not yet started; None where no file of the run has changed."""
        if fingerprint(self.run) == self._loaded:
            return None
        return Engine(self.run, name=self.name, limits=self.limits)

    async def stop(self) -> None:
        """Ends the process; who still waits is told NotReady."""
        self._warm = False
        if self._life is not None:
            self._life.cancel()
            await asyncio.wait([self._life])
        self._lanes.fail(_not_ready)
        await self._close()

    async def _within(
        self, seconds: float, sources: Sequence[str], targets: Sequence[str], options: Options
    ) -> list[Prediction]:
        """As `_accept`; what is not answered by then is given up, although the model has begun with it."""
        try:
            async with asyncio.timeout(seconds):
                return await self._accept(sources, targets, options, seconds)
        except TimeoutError:
            raise TooLate("the explanation took longer than a request may") from None

    async def _accept(
        self, sources: Sequence[str], targets: Sequence[str] | None, options: Options, seconds: float
    ) -> list[Prediction]:
        if not self.ready:
            raise _not_ready()
        portion = max(min(len(sources), self.limits.max_queue // PORTION), 1)
        large = len(sources) > portion
        later = self._busy(portion)
        if later or (large and self._large >= LARGE):
            raise Busy(later or self._lanes.seconds())
        until = asyncio.get_running_loop().time() + seconds
        self._large += large
        places = [slice(first, first + portion) for first in range(0, len(sources), portion)]
        portions = [
            Texts(sources[some], None if targets is None else targets[some], options, some.start) for some in places
        ]
        try:
            return await self._answers(portions, until)
        finally:
            self._large -= large

    async def _answers(self, portions: Sequence[Texts], until: float) -> list[Prediction]:
        """In order. A short text that comes alone is not counted first, which would be half a millisecond more."""
        if len(portions) == 1 and (size := guessed(portions[0])) is not None:
            with suppress(Miscounted):
                return [*(await self._lanes.answer(portions[0], {0: size}, until, guessed=True)).values()]
        counts = [await self._count(texts, until) for texts in portions]
        total, most = sum(sum(sizes.values()) for sizes, _ in counts), self.limits.max_cost
        if total > most:
            raise TooCostly("the request costs", total, most, "ask for less text, n_best or prefix at a time")
        if counts and (lane := self._lanes.crowded(counts[0][0].values())) is not None:
            raise Busy(self._lanes.seconds(lane))
        found = list[Prediction]()
        for texts, (sizes, copied) in zip(portions, counts, strict=True):
            answers = copied | await self._lanes.answer(texts, sizes, until)
            found += [answers[place] for place in range(len(texts.sources))]
        return found

    def _busy(self, texts: int) -> int:
        """As `busy`, of so many texts."""
        return self._lanes.seconds() if self._lanes.full(self._counted + texts) else 0

    async def _count(self, texts: Texts, until: float) -> tuple[dict[int, int], dict[int, Prediction]]:
        """As `counted`. Meanwhile they count as short ones that wait."""
        pipe = self._pipe
        if not self.ready or pipe is None:  # no longer: between two portions
            raise _not_ready()
        self._counted += len(texts.sources)
        said, options = list[dict[str, Any]](), vars(texts.options)
        try:
            async with asyncio.timeout_at(until):
                for some in _countable(texts.sources):
                    targets = None if texts.targets is None else texts.targets[some]
                    said.append(await pipe.ask({"count": texts.sources[some], "targets": targets, "options": options}))
        except TimeoutError:
            raise TooLate from None
        except Gone:
            raise _not_ready() from None
        finally:
            self._counted -= len(texts.sources)
        return counted(texts, said)

    async def _load(self) -> Pipe:
        limits = self.limits
        job: dict[str, Any] = {"run": str(self.run), "threads": self.threads}
        job |= {"batch_tokens": limits.max_batch_tokens, "changes": limits.changes}
        loaded = await asyncio.to_thread(fingerprint, self.run)
        self._pipe, self.info = await Pipe.open(job, self.limits)
        self._loaded = loaded
        self.source, self.target = self.info["source"] or "", self.info["target"] or ""
        self.translates, self.given = self.info["translates"], self.info["given"]
        self.alphabet = frozenset(self.info.pop("alphabet", ""))
        self.routes = self.info.pop("routes", {})
        return self._pipe

    async def _live(self) -> None:
        """Works as long as the process lives, and starts another one if it ends."""
        pause = FIRST_PAUSE
        while True:
            try:
                pipe = self._pipe or await self._load()
                self._lanes.warmed(await pipe.warm())
                self._warm, pause = True, FIRST_PAUSE
                await self._lanes.work(pipe, self.threads)
            except Gone as error:
                log.error("%s: the process of the model has ended (%s); it is started again", self.name, error)
            except RegardError as error:
                log.error("%s: cannot be started again: %s", self.name, error)
            except Exception:  # a fault of our own must not leave those who ask without an answer for ever
                log.exception("%s: a fault; the process of the model is started again", self.name)
            self._warm = False
            self._lanes.fail(_not_ready)
            await self._close()
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _close(self) -> None:
        if self._pipe is not None:
            await self._pipe.close()
            self._pipe = None


class EngineRoute:
    """A further pair of languages of an engine's model, in the same process and the same queues."""

    translates = True

    def __init__(self, engine: Engine, route: str, info: Mapping[str, Any]) -> None:
        self.engine, self.route, self.name = engine, route, f"{engine.name}:{route}"
        self.info = {name: value for name, value in info.items() if name != "alphabet"}
        self.source, self.target = self.info["source"] or "", self.info["target"] or ""
        self.given, self.alphabet = self.info["given"], frozenset(info["alphabet"])
        self.watchers: list[Watcher] = []  # hear nothing: a batch is told to those of the engine

    @property
    def ready(self) -> bool:
        """Whether the engine takes requests."""
        return self.engine.ready

    @property
    def queue_size(self) -> int:
        """Texts that wait for the engine, whatever their languages."""
        return self.engine.queue_size

    @property
    def busy(self) -> int:
        """As of the engine."""
        return self.engine.busy

    async def start(self) -> None:
        """Nothing: the engine loads the model."""

    async def predict(self, texts: Sequence[str], options: Options, *, seconds: float = 30.0) -> list[Prediction]:
        """As of the engine."""
        return await self.engine.predict(texts, replace(options, route=self.route), seconds=seconds)

    async def explain(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        by: str = "",
        reasons: Sequence[str] = (),
        steps: bool = False,
        seconds: float = 30.0,
    ) -> list[Prediction]:
        """As of the engine."""
        return await self.engine.explain(
            sources, targets, by=by, reasons=reasons, steps=steps, seconds=seconds, route=self.route
        )

    async def rewrite(self, source: str, target: str, word: int, count: int, *, seconds: float = 30.0) -> Prediction:
        """As of the engine."""
        return await self.engine.rewrite(source, target, word, count, seconds=seconds, route=self.route)

    def pairs(self) -> Sequence[Predicts]:
        """Itself."""
        return [self]

    def renewed(self) -> None:
        """None: the engine is renewed."""

    async def stop(self) -> None:
        """Nothing: the engine has its own end."""


def fingerprint(run: Path) -> Fingerprint:
    """Return what identifies the contents of a run's files without reading them: path, inode, size, time of change.

    Of files that come and go in a training that goes on, only the checkpoints count.
    """
    found = set[tuple[str, int, int, int]]()
    for folder, folders, names in os.walk(run.resolve()):
        folders[:] = [name for name in folders if name != UNREAD_FOLDER]
        for name in names:
            if name not in UNREAD:
                path = os.path.join(folder, name)
                with suppress(OSError):  # gone meanwhile
                    told = os.stat(path)
                    found.add((path, told.st_ino, told.st_size, told.st_mtime_ns))
    return frozenset(found)


def _countable(texts: Sequence[str]) -> Iterator[slice]:
    """Portions of few characters: while a model's process counts it hears nobody else."""
    first, characters = 0, 0
    for place, text in enumerate(texts):
        if place > first and characters + len(text) > COUNTED:
            yield slice(first, place)
            first, characters = place, 0
        characters += len(text)
    yield slice(first, len(texts))


def name_of(run: Path) -> str:
    """A run is named as its folder, or as the demo's around it."""
    path = run.resolve()
    return path.parent.name if path.name == "model" else path.name


def _not_ready() -> NotReady:
    return NotReady(SOON)
