"""A server's one state: what it serves, for whom, and whether it can be asked now."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from regard.documents.language_detection import Detector
from regard.errors import ConfigError, RegardError
from regard.serve.catalogue import Catalogue, ServedModel, between, models_of, none_between
from regard.serve.downloads import Downloads
from regard.serve.engine import Engine, Engines, NotReady
from regard.serve.glossaries import Glossaries
from regard.serve.in_thread import ThreadSlots
from regard.serve.security import AllowedOrigins, Hosts, Rates
from regard.serve.settings import Settings
from regard.serve.telemetry import AccessLog, Metrics

LOADING, RESTARTING = 3, 2  # seconds after which to ask again
FILES = 2  # read or written again at a time
LOOK = 0.1  # seconds between two looks at whether an engine is ready, or has nothing left to answer
WARM_WITHIN = 120.0  # seconds after loading in which an engine that replaces another must be ready

_LOG = logging.getLogger("regard.serve")


class Service:
    """The engines behind one address. They are loaded while it is listening already, and answers 503."""

    def __init__(
        self,
        settings: Settings,
        engines: Engines,
        failed: Callable[[BaseException], None],
        *,
        make_detector: Callable[[Sequence[str]], Detector] = Detector,
    ) -> None:
        """`failed` is told why the engines could not be started."""
        self.settings, self.engines = settings, engines
        self.metrics = Metrics()
        self.access_log = None if settings.access_log is None else AccessLog(settings.access_log)
        self.hosts = Hosts([settings.host, *settings.allowed_hosts])
        self.origins = AllowedOrigins(settings.cors_origins)
        self.rates = Rates(settings.req_limit, settings.req_flood_threshold)
        self.downloads = Downloads()
        self.files = ThreadSlots(FILES)
        self.glossaries = Glossaries(settings.max_terms, settings.max_term_alternatives)
        self.draining = False
        self.unanswered = set[asyncio.Timeout]()  # the time of each request that was let in
        self._failed = failed
        self._catalogue: Catalogue | None = None
        self._served = dict[str, list[ServedModel]]()  # by engine: its models that are wanted
        self._make_detector = make_detector
        self._detector: Detector | None = None
        self._starting: asyncio.Task[None] | None = None
        self._reloading = asyncio.Lock()
        self._replaced = set[asyncio.Task[None]]()  # engines that answer their last requests

    @property
    def catalogue(self) -> Catalogue:
        """What is served. Raises NotReady as long as that is not known."""
        if self._catalogue is None:
            raise NotReady(LOADING)
        return self._catalogue

    @property
    def detector(self) -> Detector:
        """Tells the languages that are served from each other. Raises NotReady as long as they are not known."""
        if self._detector is None:
            raise NotReady(LOADING)
        return self._detector

    @property
    def ready(self) -> bool:
        """Return whether every engine can be asked, and new requests are taken."""
        known = self._catalogue
        return known is not None and not self.draining and all(model.engine.ready for model in known.models)

    @property
    def busy(self) -> int:
        """Seconds after which to ask again, since no engine has room for one more text; 0: one has."""
        known = self._catalogue
        return 0 if known is None else min(model.engine.busy for model in known.models)

    def start(self) -> None:
        """Begins to load."""
        self._starting = asyncio.create_task(self._start())

    async def started(self) -> None:
        """Returns when loading has ended, well or not."""
        if self._starting is not None:
            await asyncio.wait([self._starting])

    def give_up(self) -> None:
        """Ends the work on all that is not answered yet: it could not be answered later either."""
        self.draining = True
        now = asyncio.get_running_loop().time()
        while self.unanswered:
            self.unanswered.pop().reschedule(now)

    async def reload(self) -> None:
        """Read keys anew, and load each run whose files have changed beside the engine that serves it.

        Requests go to the new engine as soon as it is ready; the old one ends when those that it has are answered. What
        cannot be read or loaded is logged, and stays as it was. Several calls take turns.
        """
        async with self._reloading:
            if self.access_log is not None:
                try:
                    self.access_log.reopen()
                except RegardError as error:
                    _LOG.error("reload: the access log goes on in the file it has: %s", error)
            await self.started()
            try:
                self.settings.keys.reread()
            except (RegardError, OSError, UnicodeError) as error:
                _LOG.error("reload: the keys stay as they were: %s", error)
            renewed = [await asyncio.to_thread(self.engines[name].renewed) for name in self._served]
            changed = [fresh for fresh in renewed if fresh is not None]
            _LOG.info(
                "reload: %s", f"loading {', '.join(one.name for one in changed)}" if changed else "no run has changed"
            )
            for fresh in changed:
                await self._load_anew(fresh)

    async def stop(self) -> None:
        """Ends all that was started."""
        self.draining = True
        for task in self._replaced:
            task.cancel()
        await asyncio.gather(*self._replaced, return_exceptions=True)
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        await self.engines.stop()
        self.downloads.close()
        if self.access_log is not None:
            self.access_log.close()

    async def _start(self) -> None:
        try:
            await self.engines.start()
            served = {name: self._wanted(engine) for name, engine in self.engines.items()}
            if not any(served.values()):
                there = [one.languages for engine in self.engines.values() for one in models_of(engine)]
                raise none_between(self.settings.load_only, there)
            for name in [name for name, wanted in served.items() if not wanted]:  # only their models could tell
                await self.engines[name].stop()
                del served[name]
            await self._serve(self.engines, served)
        except Exception as error:  # told by whoever runs the server, which then ends
            self._failed(error)

    async def _serve(self, engines: Engines, served: dict[str, list[ServedModel]]) -> None:
        """From the end of this on requests go to these."""
        catalogue, before = Catalogue([one for wanted in served.values() for one in wanted]), self._catalogue
        detector = self._detector
        if detector is None or before is None or before.languages != catalogue.languages:
            detector = await asyncio.to_thread(self._make_detector, catalogue.languages)
        known = [] if before is None else before.models
        self.metrics.watch([model for model in catalogue.models if all(model is not other for other in known)])
        self.engines, self._served, self._catalogue, self._detector = engines, served, catalogue, detector

    def _wanted(self, engine: Engine) -> list[ServedModel]:
        """The models of an engine between languages that are wanted, and those that translate nothing."""
        models = models_of(engine)
        for one in models:
            if not all(one.languages):
                hint = "name them when it is trained: data.languages=[en,de]"
                raise ConfigError(one.name, "nothing says which languages this run translates", hint)
        return [one for one in models if between(one.languages, self.settings.load_only)]

    async def _load_anew(self, fresh: Engine) -> None:
        """Put a new engine in the place of the one of its name, which goes on where that cannot be done."""
        began, old = time.monotonic(), self.engines[fresh.name]
        try:
            await fresh.start()
            wanted = self._wanted(fresh)
            if not wanted:
                raise none_between(self.settings.load_only, [one.languages for one in models_of(fresh)])
            async with asyncio.timeout(WARM_WITHIN):
                while not fresh.ready:
                    await asyncio.sleep(LOOK)
            replaced = self._served[fresh.name]
            await self._serve(self.engines.with_renewed(fresh), {**self._served, fresh.name: wanted})
        except Exception as error:
            await fresh.stop()
            told = f"is not ready within {WARM_WITHIN:g} seconds" if isinstance(error, TimeoutError) else error
            _LOG.error("reload: %s goes on as it was: the changed run cannot be served: %s", fresh.name, told)
            self.metrics.reloaded(fresh.name, "failed")
            return
        except asyncio.CancelledError:
            await fresh.stop()
            raise
        self.metrics.forget(replaced, self._served[fresh.name])
        self.metrics.reloaded(fresh.name, "loaded")
        there = set(self.unanswered)
        told = "the old model answers the %d requests that there are, and ends"
        _LOG.info(
            f"reload: %s: the new model answers after %.1f s; {told}", fresh.name, time.monotonic() - began, len(there)
        )
        task = asyncio.create_task(self._drain(old, there), name=f"last requests of {old.name}")
        self._replaced.add(task)
        task.add_done_callback(self._replaced.discard)

    async def _drain(self, old: Engine, there: set[asyncio.Timeout]) -> None:
        """End an engine once these requests are answered, which may have been handed to it."""
        try:
            while there & self.unanswered:
                await asyncio.sleep(LOOK)
        finally:
            await old.stop()
        _LOG.info("reload: %s: the old model has ended", old.name)
