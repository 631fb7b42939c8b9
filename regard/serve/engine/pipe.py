"""The server's end of a model's process, which sends a heartbeat with the progress of its batches twice a second.

Model processes are forked from one that has imported torch, so its memory is shared.
"""

import asyncio
import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from socket import socket, socketpair

from regard.errors import RegardError
from regard.serve.engine.capacity import BEAT, Limits
from regard.serve.engine.messages import HEAD, Beat, Failure, Job, Loaded, Message, Said, Warm, Warmed, heard, packed

_PRELOADED = "regard.serve.engine.preload"
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "PYTHONSAFEPATH": "1",  # the working directory adds no modules
    "MALLOC_ARENA_MAX": "1",  # one heap, with free pages returned: a tenth less memory at no measurable cost
}
_PATIENCE = 2.0  # seconds before a process that should end is killed
MIN_CPU = 0.01  # part of a heartbeat interval: a process below it is waiting
LARGE_MESSAGE = 100_000  # bytes of a message that is parsed in a thread, off the event loop

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([_PRELOADED])


class Gone(Exception):  # an end, not an error, as StopIteration
    """The process has ended, or does not answer."""


class Pulse:
    """Heartbeat monitor of a process. It counts own heartbeat intervals, so that a suspended server misses none.

    A batch may take any time while it advances step by step. During a long step, processor time shows that it works;
    a batch without either for `idle_after` seconds hangs.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._missed = self._idle = 0  # consecutive heartbeats
        self._still: dict[str, int] = {}  # heartbeats without a step, by batch
        self._steps: dict[str, int] = {}  # at the last heartbeat
        self._cpu = 0.0
        self._armed = False  # a loading process sends no heartbeat

    def begin(self) -> None:
        """Start monitoring: the model is loaded."""
        self._armed = True

    def hear(self, said: Beat) -> None:
        """Record a heartbeat."""
        self._missed, self._armed = 0, True
        steps, cpu = said.steps, said.cpu
        same = {name for name, count in steps.items() if self._steps.get(name) == count}
        self._still = {name: self._still.get(name, 0) + 1 for name in same}
        waits = same and len(same) == len(steps) and cpu - self._cpu < MIN_CPU * BEAT
        self._idle = self._idle + 1 if waits else 0
        self._steps, self._cpu = steps, cpu

    def fault(self) -> str | None:
        """Return the problem, if there is one. Called once per heartbeat interval."""
        self._missed += self._armed
        limits = self.limits
        for beats, most, what in (
            (self._missed - 1, limits.silent_after, "no heartbeat"),
            (self._idle, limits.idle_after, "an idle batch"),
            (max(self._still.values(), default=0), limits.stuck_after, "a batch without progress"),
        ):
            if beats * BEAT >= most:
                return f"{what} for {most:g} seconds"
        return None


class Pipe:
    """A process that answers several messages at a time, each by its number. A hanging one is killed."""

    def __init__(
        self, process: BaseProcess, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits
    ) -> None:
        self.process, self._reader, self._writer, self._pulse = process, reader, writer, Pulse(limits)
        self._end = "it ended"
        self._answers: dict[int, asyncio.Future[Said]] = {}
        self._numbers = count()
        self._reading = asyncio.create_task(self._read(), name=f"answers of process {process.pid}")
        self._watching = asyncio.create_task(self._watch(), name=f"pulse of process {process.pid}")

    @classmethod
    async def open(cls, job: Job, limits: Limits) -> "tuple[Pipe, Loaded]":
        """Start a process that loads the run; return it with its answer. Raises RegardError if it cannot."""
        process, ours = await _started()
        pipe = cls(process, *await asyncio.open_connection(sock=ours), limits)
        try:
            async with asyncio.timeout(limits.load_within):
                found = await pipe.ask(job)
        except TimeoutError:
            await pipe.close(0.0)
            raise RegardError(f"{job.run}: not loaded within {limits.load_within:g} seconds") from None
        except Gone:
            await pipe.close()
            raise RegardError(f"{job.run}: the process of the model ended with code {process.exitcode}") from None
        except asyncio.CancelledError:
            await pipe.close(0.0)
            raise
        if not isinstance(found, Loaded):
            await pipe.close()
            raise RegardError(found.reason if isinstance(found, Failure) else "the model was not loaded")
        pipe._pulse.begin()
        return pipe, found

    @property
    def alive(self) -> bool:
        """Return True while an answer can still come, False once the process is known to have ended."""
        return not (self._reading.done() or self._writer.is_closing())

    async def warm(self) -> float:
        """Warm up the process; return its tokens per second. Raises Gone if it ends."""
        said = await self.ask(Warm())
        return said.speed if isinstance(said, Warmed) else 0.0

    async def ask(self, message: Message) -> Said:
        """Return the answer to a message, by its number. Raises Gone if the process ends first."""
        message.number = number = next(self._numbers)
        if self._reading.done():
            raise Gone(self._end)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(packed(message))
            await self._writer.drain()
            return await answer
        except ConnectionError as error:
            raise Gone(str(error)) from error
        finally:
            del self._answers[number]

    def notify(self, message: Message) -> None:
        """Send a message without an answer."""
        if not self._reading.done():
            self._writer.write(packed(message))

    async def ended(self) -> None:
        """Read messages until the process closes its end. Raises Gone then."""
        await asyncio.wait([self._reading])
        fault = self._reading.exception()
        raise Gone(self._end if fault is None else f"its message cannot be read: {fault!r}") from fault

    async def close(self, patience: float = _PATIENCE) -> None:
        """End the process: close its connection, then kill it."""
        self._writer.close()
        try:
            await asyncio.wait_for(_ended(self.process), patience)
        except TimeoutError:
            self._kill()
            await _ended(self.process)
        self._watching.cancel()
        await asyncio.wait([self._reading, self._watching])
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()

    async def _watch(self) -> None:
        while (fault := self._pulse.fault()) is None:
            await asyncio.sleep(BEAT)
        self._end = fault
        self._kill()

    async def _read(self) -> None:
        """Read answers until the process ends; then fail all that wait."""
        try:
            while True:
                size = int.from_bytes(await self._reader.readexactly(HEAD), "big")
                body = await self._reader.readexactly(size)
                said = heard(body) if size < LARGE_MESSAGE else await asyncio.to_thread(heard, body)
                if isinstance(said, Beat):
                    self._pulse.hear(said)
                    continue
                answer = self._answers.get(-1 if said.number is None else said.number)
                if answer is not None and not answer.done():
                    answer.set_result(said)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(Gone(self._end))


async def _started() -> tuple[BaseProcess, socket]:
    """Return a process that runs `worker.main`, and the socket to it."""
    with _environment():
        forkserver.ensure_running()  # early: the import overlaps with other work
    ours, theirs = socketpair()
    process = _CONTEXT.Process(target=run_worker, args=(theirs,), daemon=True)
    try:
        await asyncio.to_thread(process.start)
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours


def run_worker(given: socket) -> None:
    """Run a model's process. Imported here, since the server does not need its modules."""
    from regard.serve.engine.worker import main

    sys.exit(main(given))


async def _ended(process: BaseProcess) -> int | None:
    """Return the exit code of a process, once it has ended."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(process.sentinel, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process.sentinel)
    return process.exitcode


@contextmanager
def _environment() -> Iterator[None]:
    """Set the environment of the process that others are forked from."""
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    os.environ.update(_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
