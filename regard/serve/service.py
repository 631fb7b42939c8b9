"""The state of a server: its engines, clients and readiness."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from regard.documents.language_detection import Detector
from regard.errors import ConfigError, RegardError
from regard.serve.catalogue import Catalogue, ServedModel, between, models_of, none_between
from regard.serve.documents import Documents, UploadedDocument
from regard.serve.downloads import Downloads
from regard.serve.engine.engine import Engine
from regard.serve.engine.engines import Engines
from regard.serve.engine.faults import NotReady
from regard.serve.glossaries import Glossaries
from regard.serve.glossary_store import GlossaryStore
from regard.serve.in_thread import ThreadSlots
from regard.serve.languages import inward
from regard.serve.memories import Memories
from regard.serve.security import AllowedOrigins, Hosts, Rates
from regard.serve.settings import Settings
from regard.serve.telemetry import AccessLog, Metrics

LOADING, RESTARTING = 3, 2  # seconds to wait before a retry
FILES = 2  # parsed or written at a time
CHECK_SECONDS = 0.1  # seconds between two checks of an engine: ready, or drained
FOLLOW_SECONDS = 2.0  # seconds between two looks for another version of a run
WARM_WITHIN = 120.0  # time limit in seconds for the warm-up of a replacement

_LOG = logging.getLogger("regard.serve")


class Service:
    """The engines behind one address. While they load, the server already listens, and answers 503."""

    def __init__(
        self,
        settings: Settings,
        engines: Engines,
        failed: Callable[[BaseException], None],
        *,
        make_detector: Callable[[Sequence[str]], Detector] = Detector,
    ) -> None:
        """`failed` is called with the error if the engines cannot be started."""
        self.settings, self.engines = settings, engines
        self.metrics = Metrics()
        self.access_log = None if settings.access_log is None else AccessLog(settings.access_log)
        self.hosts = Hosts([settings.host, *settings.allowed_hosts])
        self.origins = AllowedOrigins(settings.cors_origins)
        self.rates = Rates(settings.req_limit, settings.req_flood_threshold)
        self.downloads = Downloads()
        self.documents = Documents(self.downloads)
        self.files = ThreadSlots(FILES)
        self.glossaries = Glossaries(settings.max_terms, settings.max_term_alternatives)
        self.memories = Memories(settings.memories, settings.memory_threshold, writable=settings.adds_to_memory)
        self.stored_glossaries = GlossaryStore(settings.glossaries)
        self.draining = False
        self.unanswered = set[asyncio.Timeout]()  # the timeout of each admitted request
        self.requests: Collection[Any] = ()  # that have arrived and have no whole answer
        self._failed = failed
        self._catalogue: Catalogue | None = None
        self._served = dict[str, list[ServedModel]]()  # by engine: its selected models
        self._make_detector = make_detector
        self._detector: Detector | None = None
        self._starting: asyncio.Task[None] | None = None
        self._reloading = asyncio.Lock()
        self._replaced = set[asyncio.Task[None]]()  # engines that are draining
        self._following: asyncio.Task[None] | None = None

    @property
    def catalogue(self) -> Catalogue:
        """The served models. Raises NotReady until they are known."""
        if self._catalogue is None:
            raise NotReady(LOADING)
        return self._catalogue

    @property
    def detector(self) -> Detector:
        """Detector of the served languages. Raises NotReady until they are known."""
        if self._detector is None:
            raise NotReady(LOADING)
        return self._detector

    @property
    def ready(self) -> bool:
        """Return True if every engine is ready, and new requests are accepted."""
        known = self._catalogue
        return known is not None and not self.draining and all(model.engine.ready for model in known.models)

    @property
    def busy(self) -> int:
        """Seconds to wait for room in some queue; 0: there is room."""
        known = self._catalogue
        return 0 if known is None else min(model.engine.busy for model in known.models)

    def start(self) -> None:
        """Begin to load."""
        self._starting = asyncio.create_task(self._start())
        self._following = asyncio.create_task(self._follow(), name="versions")

    async def started(self) -> None:
        """Wait until loading has ended, with success or not."""
        if self._starting is not None:
            await asyncio.wait([self._starting])

    def give_up(self) -> None:
        """Cancel all unanswered requests at the end of the grace time."""
        self.draining = True
        now = asyncio.get_running_loop().time()
        while self.unanswered:
            self.unanswered.pop().reschedule(now)

    async def reload(self) -> dict[str, str]:
        """Read the keys again, and load each changed run beside its engine; return the faults by name, "" for none.

        Requests go to the new engine as soon as it is ready; the old one ends after its last answer. A failure to
        read or load is logged, and the old state stays; those of keys and log are named by their options. Concurrent
        calls take turns.
        """
        faults = dict[str, str]()
        async with self._reloading:
            if self.access_log is not None:
                try:
                    self.access_log.reopen()
                except RegardError as error:
                    _LOG.error("reload: the access log stays in its old file: %s", error)
                    faults["--access-log"] = str(error)
            await self.started()
            try:
                self.settings.keys.reread()
            except (RegardError, OSError, UnicodeError) as error:
                _LOG.error("reload: the keys stay unchanged: %s", error)
                faults["--api-keys"] = str(error)
            return faults | await self._reload_changed([*self._served])

    async def _reload_changed(self, names: Sequence[str]) -> dict[str, str]:
        """Load the changed ones of these engines; return the faults by name. The caller holds the lock."""
        renewed = [await asyncio.to_thread(self.engines[name].renewed) for name in names]
        changed = [fresh for fresh in renewed if fresh is not None]
        _LOG.info(
            "reload: %s", f"loading {', '.join(one.name for one in changed)}" if changed else "no run has changed"
        )
        return {fresh.name: await self._load_anew(fresh) for fresh in changed}

    async def _follow(self) -> None:
        """Reload a run as soon as another version of it is in use: taught, or undone. Each version is tried once."""
        tried = dict[str, Path]()
        await self.started()
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            for name in [*self._served]:
                try:
                    await self._follow_one(name, tried)
                except Exception:  # a bug must not end the following of all runs
                    _LOG.exception("reload: %s: another version could not be loaded", name)

    async def _follow_one(self, name: str, tried: dict[str, Path]) -> None:
        """Reload a run if another version of it is in use, which is noted in `tried`."""
        folder = await asyncio.to_thread(self.engines[name].other_version)
        if folder is None:
            tried.pop(name, None)
        elif tried.get(name) != folder:
            tried[name] = folder
            async with self._reloading:
                await self._reload_changed([name])

    async def stop(self) -> None:
        """End everything that was started."""
        self.draining = True
        ending = [*self._replaced, *([] if self._following is None else [self._following])]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        await self.documents.stop()
        await self.engines.stop()
        self.downloads.close()
        await self.memories.close()
        if self.access_log is not None:
            self.access_log.close()

    async def _start(self) -> None:
        try:
            await self.engines.start()
            served = {name: self._wanted(engine) for name, engine in self.engines.items()}
            if not any(served.values()):
                there = [one.languages for engine in self.engines.values() for one in models_of(engine)]
                raise none_between(self.settings.load_only, there)
            for name in [
                name for name, wanted in served.items() if not wanted
            ]:  # their languages were unknown before the load
                await self.engines[name].stop()
                del served[name]
            await self._serve(self.engines, served)
        except Exception as error:  # the server reports it, then ends
            self._failed(error)

    async def _serve(self, engines: Engines, served: dict[str, list[ServedModel]]) -> None:
        """Switch new requests to these models."""
        canaries = {name: part for name in engines for run, part in self.settings.canaries if engines[name].run == run}
        catalogue, before = Catalogue([one for wanted in served.values() for one in wanted], canaries), self._catalogue
        if before is None:
            self.memories.check([tuple(map(inward, one.languages)) for one in catalogue.models])
        detector = self._detector
        if detector is None or before is None or before.languages != catalogue.languages:
            detector = await asyncio.to_thread(self._make_detector, catalogue.languages)
        known = [] if before is None else before.models
        for engine in engines.values():
            engine.requests_at_hand = lambda: len(self.requests)
        self.metrics.watch([model for model in catalogue.models if all(model is not other for other in known)])
        self.engines, self._served, self._catalogue, self._detector = engines, served, catalogue, detector

    def _wanted(self, engine: Engine) -> list[ServedModel]:
        """Return the models of an engine between selected languages, and those that are not translators."""
        models = models_of(engine)
        for one in models:
            if not all(one.languages):
                hint = "name them in training: data.languages=[en,de]"
                raise ConfigError(one.name, "the languages of this run are unknown", hint)
        return [one for one in models if between(one.languages, self.settings.load_only)]

    async def _load_anew(self, fresh: Engine) -> str:
        """Replace the engine of the same name; on a failure the old one stays. Return the fault, "" for none."""
        began, old = time.monotonic(), self.engines[fresh.name]
        try:
            await fresh.start()
            wanted = self._wanted(fresh)
            if not wanted:
                raise none_between(self.settings.load_only, [one.languages for one in models_of(fresh)])
            async with asyncio.timeout(WARM_WITHIN):
                while not fresh.ready:
                    await asyncio.sleep(CHECK_SECONDS)
            replaced = self._served[fresh.name]
            await self._serve(self.engines.with_renewed(fresh), {**self._served, fresh.name: wanted})
        except Exception as error:
            await fresh.stop()
            problem = f"not ready within {WARM_WITHIN:g} seconds" if isinstance(error, TimeoutError) else error
            _LOG.error("reload: %s stays unchanged: the changed run cannot be served: %s", fresh.name, problem)
            self.metrics.reloaded(fresh.name, "failed")
            return str(problem)
        except asyncio.CancelledError:
            await fresh.stop()
            raise
        self.metrics.forget(replaced, self._served[fresh.name])
        self.metrics.reloaded(fresh.name, "loaded")
        there = set(self.unanswered)
        rest = "the old model answers its last %d requests and ends"
        _LOG.info(
            f"reload: %s: the new model answers after %.1f s; {rest}", fresh.name, time.monotonic() - began, len(there)
        )
        task = asyncio.create_task(self._drain(old, there, self.documents.running), name=f"last requests of {old.name}")
        self._replaced.add(task)
        task.add_done_callback(self._replaced.discard)
        return ""

    async def _drain(self, old: Engine, there: set[asyncio.Timeout], document: UploadedDocument | None) -> None:
        """End an engine after these requests and this document, which may use it."""
        try:
            while there & self.unanswered or (document is not None and document.unfinished):
                await asyncio.sleep(CHECK_SECONDS)
        finally:
            await old.stop()
        _LOG.info("reload: %s: the old model has ended", old.name)
