"""A server in a process of its own, and clients that ask it: so many at once, or so many a second whatever it says."""

import asyncio
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import urlopen

PATIENCE = 300.0  # seconds that a server gets to load, or to answer one request
CONNECTIONS = 1024  # at most, where requests come at a rate: a machine that stands still must not open ever more
IDLE = 10.0  # seconds after which a connection is not used again
MEGABYTE = 2**20


Text = str | Sequence[str]  # what a request asks for


class Answer(NamedTuple):
    """What a client got, and when."""

    text: Any  # that was asked for, one or several
    began: float  # seconds, as `time.monotonic` counts them
    seconds: float  # from when it was due
    status: int  # 0: the connection ended without an answer; -1: no answer in time
    retry_after: str | None
    said: Any  # the translation, or that of each; None: there is none


class Server:
    """`regard serve` of a run, or what speaks as it does."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process, self.log = process, log
        said = self._when(lambda said: "ready after" in said)
        place = urlsplit(said.partition("serving at ")[2].split()[0])
        self.host, self.port = place.hostname or "", place.port or 0
        with urlopen(f"{place.geturl()}v1/models") as answer:
            (self.model,) = json.load(answer)["models"]

    def body(self, text: Text, key: str | None = None) -> bytes:
        """A request for a translation, with the key of who asks."""
        asked = {"q": text, "source": self.model["source"], "target": self.model["target"]}
        return json.dumps(asked if key is None else {**asked, "api_key": key}).encode()

    def memory(self) -> dict[str, float]:
        """Megabytes that its processes hold: the one that answers, and the one of the model."""
        (model,) = self.models()
        return {"server": resident(self.process.pid), "model": resident(model)}

    def models(self) -> list[int]:
        """The processes of its models: children of the one that they are forked from."""
        return [model for child in children(self.process.pid) for model in children(child)]

    def proportional(self) -> float:
        """Megabytes that all its processes take of the machine; what several share counts once."""
        pids = [self.process.pid, *children(self.process.pid), *self.models()]
        return sum(proportional(pid) for pid in pids)

    def cpu(self) -> float:
        """Seconds of the processor that all its processes have used."""
        kept = {self.process.pid, *children(self.process.pid), *self.models()}
        return sum(cpu(pid) for pid in kept)

    def end(self) -> int:
        """Asks it to end → its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def _when(self, true: Callable[[str], bool]) -> str:
        until = time.monotonic() + PATIENCE
        while not true(said := self.log.read_text("utf-8")):
            if self.process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"the server did not begin to answer:\n{said}")
            time.sleep(0.02)
        return said


@contextmanager
def serving(run: Path, *options: object) -> Iterator[Server]:
    """`regard serve` of a run that is ready; it is ended afterwards if it has not ended."""
    with started("-m", "regard", "serve", run, "--port", 0, *options) as server:
        yield server


@contextmanager
def started(*words: object) -> Iterator[Server]:
    """The same of what Python is told by words."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as file:
            process = subprocess.Popen([sys.executable, *map(str, words)], stderr=file)
        try:
            yield Server(process, log)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(PATIENCE)


class Client:
    """A connection that is kept open while it is used.

    As in the pools of clients it is closed before the server may close it: a request that meets that end is lost.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._used = 0.0  # when it was answered last

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def ask(self, text: Text, due: float | None = None, *, key: str | None = None) -> Answer:
        """One request. It is sent once: what was sent and has no answer is lost, and counts as such."""
        began = time.monotonic()
        try:
            status, headers, body = await asyncio.wait_for(self._exchange(self.server.body(text, key)), PATIENCE)
        except (OSError, asyncio.IncompleteReadError):
            await self.close()
            status, headers, body = 0, {}, b""
        except TimeoutError:
            status, headers, body = -1, {}, b""
            await self.close()
        said = json.loads(body)["translatedText"] if status == 200 else None
        seconds = time.monotonic() - (due or began)
        return Answer(text, began, seconds, status, headers.get("retry-after"), said)

    async def close(self) -> None:
        """Hangs up."""
        if self._streams is not None:
            (_, writer), self._streams = self._streams, None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _exchange(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        if self._streams is not None and (self._streams[0].at_eof() or time.monotonic() - self._used > IDLE):
            await self.close()
        if self._streams is None:
            self._streams = await asyncio.open_connection(self.server.host, self.server.port)
        reader, writer = self._streams
        head = f"POST /translate HTTP/1.1\r\nHost: {self.server.host}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        answer = await reader.readexactly(int(headers.get("content-length", 0)))
        self._used = time.monotonic()
        if headers.get("connection") == "close":
            await self.close()
        return int(first.split()[1]), headers, answer


async def at_once(server: Server, texts: Sequence[str], clients: int, seconds: float) -> list[Answer]:
    """So many clients, each of which asks again as soon as it is answered, for so long."""
    until, source = time.monotonic() + seconds, itertools.cycle(texts)

    async def one() -> list[Answer]:
        answers = []
        async with Client(server) as client:
            while time.monotonic() < until:
                answers.append(await client.ask(next(source)))
        return answers

    return [answer for some in await asyncio.gather(*(one() for _ in range(clients))) for answer in some]


async def once(server: Server, text: Text) -> Answer:
    """One request on a connection of its own."""
    async with Client(server) as client:
        return await client.ask(text)


async def each_once(server: Server, texts: Sequence[str], clients: int) -> list[Answer]:
    """Every text once, asked for by so many clients at a time."""
    left, answers = iter(texts), list[Answer]()

    async def one() -> None:
        async with Client(server) as client:
            for text in left:
                answers.append(await client.ask(text))

    await asyncio.gather(*(one() for _ in range(clients)))
    return answers


async def whatever_it_says(
    server: Server, texts: Sequence[str], rate: float, seconds: float, meanwhile: Callable[[], None] | None = None
) -> list[Answer]:
    """So many requests a second, evenly, for so long, whether they are answered or not; `meanwhile` is called once a
    second. Times count from when a request was due, even if it waits for one of the `CONNECTIONS`."""
    free, asked, room = list[Client](), list[asyncio.Task[Answer]](), asyncio.Semaphore(CONNECTIONS)
    start = time.monotonic()

    async def one(text: str, due: float) -> Answer:
        async with room:
            client = free.pop() if free else Client(server)
            answer = await client.ask(text, due)
            free.append(client)
        return answer

    told = start
    for number, text in enumerate(itertools.cycle(texts)):
        due = start + number / rate
        if due > start + seconds:
            break
        await asyncio.sleep(max(due - time.monotonic(), 0.0))
        asked.append(asyncio.create_task(one(text, due)))
        if meanwhile is not None and due > told + 1:
            meanwhile()
            told = due
    answers = await asyncio.gather(*asked)
    for client in free:
        await client.close()
    return answers


def figures(answers: Sequence[Answer], seconds: float) -> dict[str, Any]:
    """Requests a second, and the times (milliseconds) of those that were answered with a translation."""
    good = sorted(answer.seconds * 1000 for answer in answers if answer.status == 200)
    statuses = {str(status): sum(one.status == status for one in answers) for status in {a.status for a in answers}}
    quantiles = statistics.quantiles(good, n=100, method="inclusive") if len(good) > 1 else [*good, 0.0] * 99
    return {
        "per_second": len(good) / seconds,
        "p50": quantiles[49],
        "p95": quantiles[94],
        "p99": quantiles[98],
        "most": max(good, default=0.0),
        "statuses": statuses,
    }


def resident(pid: int) -> float:
    """Megabytes of memory that a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def cpu(pid: int) -> float:
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def proportional(pid: int) -> float:
    """Megabytes of memory of a process; of pages that n processes share a part of 1/n (PSS)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    (size,) = (int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return size / 1024


def children(pid: int) -> list[int]:
    """The processes that it has started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text(encoding="ascii").split()]
