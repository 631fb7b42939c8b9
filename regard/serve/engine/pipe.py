"""The server's end of a model's process, which tells twice a second how far its batches are.

Processes of models are forked from one that has imported torch: what they import is in memory once.
"""

import asyncio
import multiprocessing
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from socket import socket, socketpair
from typing import Any

from regard.errors import RegardError
from regard.serve.engine.capacity import BEAT, Limits
from regard.serve.engine.messages import HEAD, Beat, Failure, Job, Loaded, Message, Said, Warm, Warmed, heard, packed

_PRELOADED = "regard.serve.engine.preload"
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "PYTHONSAFEPATH": "1",  # a folder that a server stands in adds no modules
    "MALLOC_ARENA_MAX": "1",  # one heap, whose free pages go back: a tenth less memory, no time that can be measured
}
_PATIENCE = 2.0  # seconds that a process gets to end by itself
LEAST_CPU = 0.01  # of a beat's time: a process that uses less is waiting for something
LARGE_MESSAGE = 100_000  # bytes of a message that is read in a thread of its own, so that nobody else waits meanwhile

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([_PRELOADED])


class Gone(Exception):  # as StopIteration, it tells of an end
    """The process has ended, or does not answer."""


class Pulse:
    """Signs of life of a process. Time is counted in beats of our own: a server that stood still has missed none.

    A batch may take as long as it likes while it comes on step by step. One whose steps are long shows by the time of
    the processor that it is at work; one that shows neither for `idle_after` seconds hangs.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._missed = self._idle = 0  # beats in succession
        self._still: dict[str, int] = {}  # beats for which a batch has made no step
        self._steps: dict[str, int] = {}  # as of the last beat
        self._cpu = 0.0
        self._armed = False  # what loads tells nothing

    def begin(self) -> None:
        """The process has loaded its model: from now on it tells."""
        self._armed = True

    def hear(self, said: Beat) -> None:
        """A sign of life."""
        self._missed, self._armed = 0, True
        steps, cpu = said.steps, said.cpu
        same = {name for name, count in steps.items() if self._steps.get(name) == count}
        self._still = {name: self._still.get(name, 0) + 1 for name in same}
        waits = same and len(same) == len(steps) and cpu - self._cpu < LEAST_CPU * BEAT
        self._idle = self._idle + 1 if waits else 0
        self._steps, self._cpu = steps, cpu

    def fault(self) -> str | None:
        """Called once a beat: what is wrong with it."""
        self._missed += self._armed
        limits = self.limits
        for beats, most, what in (
            (self._missed - 1, limits.silent_after, "no sign of life"),
            (self._idle, limits.idle_after, "a batch that neither goes on nor works"),
            (max(self._still.values(), default=0), limits.stuck_after, "a batch that does not go on"),
        ):
            if beats * BEAT >= most:
                return f"{what} for {most:g} seconds"
        return None


class Pipe:
    """A process that answers several messages at a time, each by its number. One that hangs is killed."""

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
    async def open(cls, job: Job, limits: Limits) -> "tuple[Pipe, Mapping[str, Mapping[str, Any]]]":
        """Starts a process, which loads the run → what it tells of the model. Raises RegardError if it cannot."""
        process, ours = await _started()
        pipe = cls(process, *await asyncio.open_connection(sock=ours), limits)
        try:
            async with asyncio.timeout(limits.load_within):
                found = await pipe.ask(job)
        except TimeoutError:
            await pipe.close(0.0)
            raise RegardError(f"{job.run}: was not loaded within {limits.load_within:g} seconds") from None
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
        return pipe, found.cards

    @property
    def alive(self) -> bool:
        """Return whether an answer can still come: false as soon as anything has shown that the process ended."""
        return not (self._reading.done() or self._writer.is_closing())

    async def warm(self) -> float:
        """Lets the process do what it does only once → pieces per second. Raises Gone if it ends."""
        said = await self.ask(Warm())
        return said.speed if isinstance(said, Warmed) else 0.0

    async def ask(self, message: Message) -> Said:
        """The answer to a message, by its number. Raises Gone if the process ends before it has answered."""
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

    def tell(self, message: Message) -> None:
        """What has no answer."""
        if not self._reading.done():
            self._writer.write(packed(message))

    async def ended(self) -> None:
        """Raises Gone when the process says nothing more."""
        await asyncio.wait([self._reading])
        fault = self._reading.exception()
        raise Gone(self._end if fault is None else f"what it says cannot be read: {fault!r}") from fault

    async def close(self, patience: float = _PATIENCE) -> None:
        """Ends the process: it hears that the connection ends, or is killed."""
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
        """Until the process ends; then those who wait for an answer are told."""
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
    """Return a process that runs `worker.main`, and the socket that leads to it."""
    with _environment():
        forkserver.ensure_running()  # at once; it imports while others wait
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
    """Run a model's process. What it imports the server, which imports this, does not need."""
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
    """Environment of the process that others are forked from."""
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
