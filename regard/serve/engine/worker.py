"""The process of a model: batches come in on stdin, answers go out on what was stdout, both as `wire` has them.

Several batches at a time, a thread each: small products gain less from a second thread than a second batch does, and
on a busy machine threads that wait for each other are many times slower. The process ends with its stdin, so it never
outlives the server. Ctrl-C and SIGTERM are the server's business: it drains first.
"""

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any, BinaryIO

import torch

from regard.errors import RegardError
from regard.serve.engine.answering import Answered, Answering, line_of
from regard.serve.engine.options import Options
from regard.serve.engine.wire import HEAD, packed, to_plain, unpacked

FAULT = 2  # exit code of a run that cannot be served
WARM_TEXTS, WARM_PIECES, WARM_SECONDS = (1, 8, 32), (4, 12, 40), 5.0  # what is translated before requests come
FIRST, STRIDE = 4, 37  # the first piece that is no special one; every so many is taken

_LOG = logging.getLogger("regard.serve")

Message = dict[str, Any]
Say = Callable[[Mapping[str, Any]], None]


def main() -> int:
    """Loads, then answers until stdin ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    out, lock = os.fdopen(os.dup(sys.stdout.fileno()), "wb"), Lock()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints is no answer

    def say(message: Mapping[str, Any]) -> None:
        with lock:
            out.write(packed(message))
            out.flush()

    try:
        return serve(sys.stdin.buffer, say)
    except BrokenPipeError:  # the server is gone
        return 0


def serve(given: BinaryIO, say: Say) -> int:
    """A conversation, from the job at its beginning to its end → the exit code."""
    torch.set_num_threads(1)
    job = _next(given)
    if job is None:
        return 0
    try:
        answering, info = Answering.load(Path(job["run"]), batch_tokens=job["batch_tokens"])
    except RegardError as error:
        say({"number": job["number"], "fault": str(error)})
        return FAULT
    except OSError as error:
        fault = f"{error.filename or job['run']}: {error.strerror or error}"
        say({"number": job["number"], "fault": fault})
        return FAULT
    say({**info, "number": job["number"]})
    free = SimpleQueue[Answering]()
    for slot in [answering, *(answering.beside() for _ in range(job["threads"] - 1))]:
        free.put(slot)
    with ThreadPoolExecutor(job["threads"], "model", initializer=torch.set_num_threads, initargs=(1,)) as pool:
        while (message := _next(given)) is not None:
            pool.submit(_answer, free, message, say)
    return 0


def _answer(free: "SimpleQueue[Answering]", message: Message, say: Say) -> None:
    answering = free.get()
    try:
        told = {**answer(answering, message), "number": message.get("number")}
    finally:
        free.put(answering)
    say(told)


def answer(answering: Answering, message: Message) -> Message:
    """A message → what is said to it. What is no request is told, and the process lives on."""
    start = time.perf_counter()
    try:
        if message.get("warm"):
            return warm(answering)
        sources, targets = message["sources"], message["targets"]
        options = Options(**message["options"])
        if targets is None:
            done = answering.translate(sources, options)
        elif options.word is None:
            done = answering.force(sources, targets)
        else:
            done = answering.rewrite(sources, targets, options.word, options.n_best)
    except Exception as error:  # a fault in one request must not take the others' model away
        _LOG.exception("a batch could not be answered")
        return {"fault": line_of(error)}
    return {**_told(done), "seconds": time.perf_counter() - start}


def warm(answering: Answering) -> dict[str, float]:
    """First answers cost more than later ones: memory, kernels. → source pieces per second, at best."""
    column, speed, start = answering.predictor.task.vocabularies["source"], 0.0, time.perf_counter()
    for count, pieces in product(WARM_TEXTS, WARM_PIECES):
        ids = [FIRST + place * STRIDE % max(len(column) - FIRST, 1) for place in range(pieces)]
        before = time.perf_counter()
        if before - start > WARM_SECONDS:
            break
        done = answering.translate([column.decode(ids)] * count, Options())
        speed = max(speed, done.pieces / (time.perf_counter() - before))
    answering.translate(["a"], Options(explain=True))
    return {"speed": speed}


def _told(done: Answered) -> Message:
    answers: dict[int, Message] = {row: {"prediction": to_plain(one)} for row, one in done.found.items()}
    answers |= {row: {one.kind: one.told} for row, one in done.refused.items()}
    return {
        "answers": [answers[row] for row in sorted(answers)],
        "pieces": done.pieces,
        "out_of_memory": done.out_of_memory,
    }


def _next(given: BinaryIO) -> Message | None:
    """The next message, None when there is none to come. One that cannot be read is as empty."""
    head = given.read(HEAD)
    if len(head) < HEAD:
        return None
    size = int.from_bytes(head, "big")
    body = given.read(size)
    if len(body) < size:
        return None
    try:
        return unpacked(body)
    except (ValueError, RecursionError):
        return {}


if __name__ == "__main__":
    sys.exit(main())
