"""A server's life in one process: listen, load, answer, and drain accepted requests at shutdown.

With `--learn` it also teaches the served translators their corrections, at an hour of each day.
"""

import asyncio
import gc
import logging
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from datetime import time as clock_time
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any

import uvicorn

from regard.compat import http_protocol
from regard.config import parse_json
from regard.errors import ConfigError
from regard.serve.app import create_app
from regard.serve.engine.capacity import Limits
from regard.serve.engine.engines import open_engines
from regard.serve.languages import inward, name_of
from regard.serve.service import CHECK_SECONDS, Service
from regard.serve.settings import KIB, NO_LIMIT, Settings

KEEP_ALIVE = 30  # seconds that a connection may be idle
LAST_WORDS = 2  # seconds after the grace time for the last error answers
SILENT, MIN_SILENT = 10.0, 3.0  # maximum and minimum seconds without a heartbeat of a model's process
HEAD_SECONDS = 10.0  # maximum time of the head of a request
MAX_HEAD = 32 * KIB  # maximum size of the head: address and headers
TOO_LARGE = "The head of the request is too large."
LINGER = 0.25  # seconds after the stop signal in which a request on its way is still answered
GC_THRESHOLD = 20_000  # new objects before a garbage collection: most of a request end with it
NICE = 19  # the lowest priority, of a lesson
LESSON_SECONDS = 20 * 3600.0  # seconds of a lesson; the next one begins after 24 hours
LESSON_COMMAND = (sys.executable, "-m", "regard", "teach")
LESSON_OPTIONS = ("training.threads=1", "--new", "--json", "--quiet")
_REFUSED = 2  # exit code of a run, or of corrections, that cannot be taught
_SAID = 400  # characters of an error that are logged
HANGUP = getattr(signal, "SIGHUP", None)  # absent on Windows

_LOG = logging.getLogger("regard.serve")


class Connection(http_protocol()):  # type: ignore[misc]  # uvicorn has no public name for it
    """Uvicorn's connection, but closed if the head of a request is too slow or too long."""

    _waiting: asyncio.TimerHandle | None = None
    _head, _unfinished = 0, 0  # bytes of the current head, and of its incomplete pieces

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._unfinished = 0
            self._wait_no_more()
            return
        self._unfinished += len(data)
        if self._unfinished <= MAX_HEAD:
            self._wait()
        elif not self.transport.is_closing():
            self.send_400_response(TOO_LARGE)

    def on_message_begin(self) -> None:
        self._head = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(name + value)
        super().on_header(name, value)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Close after a delay, since a request may be on its way."""
        if self.cycle is None or self.cycle.response_complete:
            self.loop.call_later(LINGER, self._shut)
        else:
            super().shutdown()

    def _shut(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()

    def _count(self, part: bytes) -> None:
        self._head += len(part)
        if self._head > MAX_HEAD:
            raise ValueError(TOO_LARGE)  # the parser stops, and the client gets an error

    def _wait(self) -> None:
        """Start the timer at the first piece of a head, not at the last."""
        if self._waiting is None:
            self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class Server(uvicorn.Server):
    """Uvicorn's server, but on a stop signal /readyz fails first, and new requests are refused.

    Requests that exceed the grace time get 503 with `Retry-After`.
    """

    def __init__(self, service: Service) -> None:
        super().__init__(configured(service))
        self.service, service.requests = service, self.server_state.tasks
        self._terminal = sys.stdin is not None and sys.stdin.isatty()
        self._reloads = set[asyncio.Task[dict[str, str]]]()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.service.draining = True
        super().handle_exit(sig, frame)

    def hang_up(self) -> None:
        """Handle SIGHUP: reload changed runs and keys; or shut down if the terminal has closed."""
        if self._terminal and not os.isatty(sys.stdin.fileno()):
            self.service.draining = self.should_exit = True
            return
        if self.service.draining:  # a reload would be of no use
            return
        task = asyncio.create_task(self.service.reload(), name="reload")
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.service.draining = True
        for task in self._reloads:
            task.cancel()
        await asyncio.gather(*self._reloads, return_exceptions=True)
        grace = self.service.settings.shutdown_grace
        _LOG.info("ending: %d requests left, which have %g s", len(self.service.unanswered), grace)
        asyncio.get_running_loop().call_later(grace, self.service.give_up)
        await super().shutdown(sockets)


class Learner:
    """Teaches every translator of a server, one after the other: `regard teach` in a process of its own, on one core.

    The server changes to a new version as soon as it is in use.
    """

    def __init__(self, service: Service, corrections: Path, hour: clock_time) -> None:
        self.service, self.corrections, self.hour = service, corrections, hour

    async def work(self) -> None:
        """Teach at the hour of each day, until cancelled; a process that teaches then is ended."""
        while True:
            await asyncio.sleep(seconds_until(self.hour, datetime.now().astimezone()))
            await self.learn()

    async def learn(self) -> None:
        """Teach all translators but exports; a lesson that fails ends neither the others nor the next ones."""
        for name, engine in [*self.service.engines.items()]:
            is_export = engine.limits.engine is not None
            if not is_export and any(card["languages"] for card in engine.cards.values()):
                try:
                    result, line = await asyncio.wait_for(self._teach(engine.run), LESSON_SECONDS)
                except TimeoutError:
                    result, line = "failed", f"ended after {LESSON_SECONDS / 3600:g} hours"
                except Exception as error:
                    result, line = "failed", f"{type(error).__name__}: {error}"[:_SAID]
                _LOG.info("learn: %s: %s", name, line)
                self.service.metrics.learned(name, result)

    async def _teach(self, run: Path) -> tuple[str, str]:
        """Return the result, "taught", "kept", "refused" or "failed", and a line on it."""
        code, out, said = await _finished([*LESSON_COMMAND, str(run), str(self.corrections), *LESSON_OPTIONS])
        if code:
            problem = said.strip().rpartition("\n")[2].removeprefix("error: ")[:_SAID]
            return ("refused" if code == _REFUSED else "failed"), problem or f"the process ended with code {code}"
        try:
            return outcome_line(parse_json(out))
        except (ValueError, LookupError, TypeError):
            return "failed", "the process gave no result"


def outcome_line(values: dict[str, Any]) -> tuple[str, str]:
    """Return "taught" or "kept", and a line with the figures, from the JSON of `regard teach`."""
    figures = [
        f"{what}: {one['metric']} {one['start']:.2f} → {one['selected']:.2f} "
        f"(95 %: {one['interval'][0]:+.2f} to {one['interval'][1]:+.2f})"
        for what, one in (("corrections tested", values["new"]), ("standing set", values.get("old")))
        if one
    ]
    taught = values["kept"] == "adapted"
    first = f"version {values['version']} is in use" if taught else "the weights stay as they were"
    return ("taught" if taught else "kept"), "; ".join([first, *figures])


def seconds_until(hour: clock_time, now: datetime) -> float:
    """Return the seconds until an hour of the day, in local time; more than 0."""
    wanted = now.replace(hour=hour.hour, minute=hour.minute, second=0, microsecond=0)
    return ((wanted if wanted > now else wanted + timedelta(days=1)) - now).total_seconds()


async def _finished(command: Sequence[str]) -> tuple[int, str, str]:
    """Run a command at the lowest priority; return its exit code and output. A cancelled call ends it."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    try:
        with suppress(OSError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
        out, said = await process.communicate()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return process.returncode or 0, out.decode(errors="replace"), said.decode(errors="replace")


def serve_runs(settings: Settings, runs: Sequence[Path], engines: Mapping[Path, str] = MappingProxyType({})) -> None:
    """Serve runs, and exports with the `engines` that open them, until a stop signal.

    Raises RegardError if it cannot listen, or a run cannot be served.
    """
    logging.basicConfig(format="regard: %(message)s", level=logging.WARNING)
    _LOG.setLevel(logging.INFO)
    for name in ("uvicorn.error", "python_multipart"):
        logging.getLogger(name).setLevel(logging.ERROR)  # errors of clients are not logged
    faults: list[BaseException] = []

    def failed(error: BaseException) -> None:
        faults.append(error)
        server.should_exit = True

    with listening(settings.host, settings.port) as listener:
        limits = Limits(
            max_batch_tokens=settings.max_batch_tokens,
            changes=settings.changes,
            batch_wait=settings.batch_wait,
            max_queue=settings.max_queue,
            max_cost=settings.max_cost,
            silent_after=max(min(SILENT, settings.request_timeout / 3), MIN_SILENT),
            idle_after=max(settings.request_timeout, MIN_SILENT),
            threads=settings.threads,
            direct_search=settings.direct_search,
        )
        service = Service(settings, open_engines(runs, limits, engines), failed)
        server = Server(service)
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again at the end
            signal.signal(number, lambda *_: None)
        if HANGUP is not None:
            signal.signal(HANGUP, lambda *_: None)  # until the event loop handles it
        place = address(listener, settings)
        _LOG.info("serving at %s (Ctrl-C ends it); loading %s ...", place, ", ".join(service.engines))
        _LOG.info("%s", _limits(settings))
        asyncio.run(_run(server, listener))
    if faults:
        raise faults[0]
    _LOG.info("ended")


async def _run(server: Server, listener: socket.socket) -> None:
    if HANGUP is not None:
        asyncio.get_running_loop().add_signal_handler(HANGUP, server.hang_up)
    tasks = [asyncio.create_task(_tell_when_ready(server.service))]
    settings = server.service.settings
    if settings.learn is not None and settings.suggestions is not None:
        learner = Learner(server.service, settings.suggestions, settings.learn)
        tasks.append(asyncio.create_task(learner.work(), name="learner"))
    try:
        await server.serve([listener])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _tell_when_ready(service: Service) -> None:
    began = time.monotonic()
    while not service.ready:
        await asyncio.sleep(CHECK_SECONDS)
    gc.collect()
    gc.freeze()  # permanent objects are excluded from garbage collection
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])
    for model in service.catalogue.models:
        parameters = model.card.get("parameters") or 0
        what = " → ".join(name_of(inward(code)) for code in model.languages) or model.card["task"].replace("_", " ")
        _LOG.info("%s: %s, %.1f M parameters", model.name, what, parameters / 1e6)
    for pair in service.memories.pairs:
        closed = "" if service.memories.writable else ", read-only (--api-keys, or --insecure-memory)"
        _LOG.info("translation memory: %s%s", " → ".join(map(name_of, pair)), closed)
    _LOG.info("ready after %.1f s", time.monotonic() - began)


def _limits(settings: Settings) -> str:
    """Return the limits of a client, in a line."""
    limits = {
        "characters a text": settings.char_limit,
        "texts a request": settings.batch_limit,
        "requests a minute": settings.req_limit,
    }
    parts = [f"{limit:,} {what}" for what, limit in limits.items() if limit != NO_LIMIT]
    parts += [f"{settings.max_body // KIB:,} KiB a request", f"{settings.max_file // KIB:,} KiB a file"]
    keys = f"{len(settings.keys)} keys" if settings.keys else "no keys"
    return f"{keys}; at most {', '.join(parts)}"


def configured(service: Service) -> uvicorn.Config:
    """Return uvicorn's settings."""
    settings = service.settings
    return uvicorn.Config(
        create_app(service),
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_grace) + LAST_WORDS,
        proxy_headers=bool(settings.trusted_proxies),  # otherwise a client could forge its address
        forwarded_allow_ips=list(settings.trusted_proxies),
    )


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket, so that a busy port fails before anything is loaded."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            "--host", f"'{host}' is not an address of this machine", "127.0.0.1, or 0.0.0.0 for all"
        ) from error
    family, kind, protocol, _, place = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
    except OSError as error:
        listener.close()
        problem = f"{port} on {host} cannot be used: {(error.strerror or str(error)).lower()}"
        raise ConfigError("--port", problem, "--port 0 takes one that is free") from error
    return listener


def address(listener: socket.socket, settings: Settings) -> str:
    """Return the URL for a browser."""
    port, host = listener.getsockname()[1], settings.host
    host = "localhost" if host in {"0.0.0.0", "::"} else host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{settings.url_prefix}/"
