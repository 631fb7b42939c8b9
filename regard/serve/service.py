"""A server's one state: what it serves, for whom, and whether it can be asked now."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from regard.documents.language_detection import Detector
from regard.errors import ConfigError
from regard.serve.catalogue import Catalogue, between, none_between
from regard.serve.downloads import Downloads
from regard.serve.engine import Engines, NotReady, Predicts
from regard.serve.in_thread import ThreadSlots
from regard.serve.metrics import Metrics
from regard.serve.security.hosts import Hosts, Origins
from regard.serve.security.rates import Rates
from regard.serve.settings import Settings

LOADING, RESTARTING = 3, 2  # seconds after which to ask again
FILES = 2  # read or written again at a time


class Detects(Protocol):
    """Tells languages from each other."""

    def detect(self, text: str) -> list[tuple[str, float]]:
        """Codes with confidence, 0 to 100, best first, at most three."""
        ...

    def ranked(self, text: str) -> list[tuple[str, float]]:
        """All codes with confidence, 0 to 100, best first."""
        ...


class Service:
    """The engines behind one address. They are loaded while it is listening already, and answers 503."""

    def __init__(
        self,
        settings: Settings,
        engines: Engines,
        failed: Callable[[BaseException], None],
        *,
        make_detector: Callable[[Sequence[str]], Detects] = Detector,
    ) -> None:
        """`failed` is told why the engines could not be started."""
        self.settings, self.engines = settings, engines
        self.metrics = Metrics()
        self.hosts = Hosts([settings.host, *settings.allowed_hosts])
        self.origins = Origins(settings.cors_origins)
        self.rates = Rates(settings.req_limit, settings.req_flood_threshold)
        self.downloads = Downloads()
        self.files = ThreadSlots(FILES)
        self.draining = False
        self.unanswered = set[asyncio.Timeout]()  # the time of each request that was let in
        self._failed = failed
        self._catalogue: Catalogue | None = None
        self._make_detector = make_detector
        self._detector: Detects | None = None
        self._starting: asyncio.Task[None] | None = None

    @property
    def catalogue(self) -> Catalogue:
        """What is served. Raises NotReady as long as that is not known."""
        if self._catalogue is None:
            raise NotReady(LOADING)
        return self._catalogue

    @property
    def detector(self) -> Detects:
        """Tells the languages that are served from each other. Raises NotReady as long as they are not known."""
        if self._detector is None:
            raise NotReady(LOADING)
        return self._detector

    @property
    def ready(self) -> bool:
        """Whether every engine can be asked, and new requests are taken."""
        known = self._catalogue
        return known is not None and not self.draining and all(engine.ready for engine in known.engines)

    @property
    def busy(self) -> int:
        """Seconds after which to ask again, since no engine has room for one more text; 0: one has."""
        known = self._catalogue
        return 0 if known is None else min(engine.busy for engine in known.engines)

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

    async def stop(self) -> None:
        """Ends all that was started."""
        self.draining = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        await self.engines.stop()
        self.downloads.close()

    async def _start(self) -> None:
        try:
            await self.engines.start()
            catalogue = Catalogue(await self._wanted())
            detector = await asyncio.to_thread(self._make_detector, catalogue.languages)
        except Exception as error:  # told by whoever runs the server, which then ends
            self._failed(error)
            return
        self.metrics.watch(catalogue.engines)
        self._catalogue, self._detector = catalogue, detector

    async def _wanted(self) -> list[Predicts]:
        """The engines between languages that are wanted, and those between none; the others end.

        Only their models could tell.
        """
        wanted, there = list[Predicts](), list[tuple[str, str]]()
        for engine in self.engines.values():
            if not engine.translates:
                wanted.append(engine)
                continue
            pairs = engine.pairs()
            there += [(one.source, one.target) for one in pairs]
            for one in pairs:
                if not (one.source and one.target):
                    hint = "name them when it is trained: data.languages=[en,de]"
                    raise ConfigError(one.name, "nothing says which languages this run translates", hint)
            chosen = [one for one in pairs if between(one.source, one.target, self.settings.load_only)]
            wanted += chosen
            if not chosen:
                await engine.stop()
        if not wanted:
            raise none_between(self.settings.load_only, there)
        return wanted
