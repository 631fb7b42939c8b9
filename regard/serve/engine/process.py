"""Processes of models, forked from one that has imported torch: what they import is in memory once."""

import asyncio
import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from socket import socket, socketpair

PRELOADED = "regard.serve.engine.preload"
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "PYTHONSAFEPATH": "1",  # a folder that a server stands in adds no modules
    "MALLOC_ARENA_MAX": "1",  # one heap, whose free pages go back: a tenth less memory, no time that can be measured
}

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([PRELOADED])


async def start() -> tuple[BaseProcess, socket]:
    """Return a process that runs `worker.main`, and the socket that leads to it."""
    with _environment():
        forkserver.ensure_running()  # at once; it imports while others wait
    ours, theirs = socketpair()
    process = _CONTEXT.Process(target=work, args=(theirs,), daemon=True)
    try:
        await asyncio.to_thread(process.start)
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours


def work(given: socket) -> None:
    """Run a model's process. What it imports the server, which imports this, does not need."""
    from regard.serve.engine.worker import main

    sys.exit(main(given))


async def wait(process: BaseProcess) -> int | None:
    """Return the exit code of a process, once it has ended."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(process.sentinel, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process.sentinel)
    return process.exitcode


def kill(process: BaseProcess) -> None:
    """End a process now, if it has not ended."""
    with suppress(ProcessLookupError):
        process.kill()


@contextmanager
def _environment() -> Iterator[None]:
    """Environment of the process that others are forked from."""
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    os.environ.update(ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
