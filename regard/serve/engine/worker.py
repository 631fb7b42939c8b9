"""The process of a model: messages come in and answers go out on a socket.

Several batches run at a time, a thread each: small products gain less from a second thread than from a second batch,
and on a busy machine, threads that wait for each other are many times slower. Long and short texts have threads of
their own and take turns. The thread that reads the server's messages counts tokens, notes cancelled requests, and
never decodes; another one sends a heartbeat with the progress of every batch twice a second. The process ends with its
socket, so it never outlives the server. It ignores Ctrl-C, SIGTERM and SIGHUP: the server handles them by draining.
"""

import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from queue import SimpleQueue
from socket import socket
from threading import Event, Lock, Thread
from typing import BinaryIO

import torch

from regard.decoding import Unwanted
from regard.errors import RegardError
from regard.ops.memory import release_memory
from regard.results import Prediction, as_line
from regard.runtime.compiled import log_compiling
from regard.serve.engine.answering import Answering, line_of
from regard.serve.engine.capacity import BEAT, LANES
from regard.serve.engine.core_scheduler import CoreScheduler, CoreTime, Work
from regard.serve.engine.messages import (
    HEAD,
    Batch,
    BatchReply,
    Beat,
    Carried,
    CountReply,
    CountTexts,
    Failure,
    Found,
    Job,
    Leave,
    Loaded,
    Message,
    Refused,
    ServerMessage,
    TextCost,
    Warm,
    Warmed,
    packed,
    unpacked,
)
from regard.serve.engine.questions import Predict

SWITCH = 0.001  # switch interval of Python's threads, in seconds
_FAULT = 2  # exit code of a run that cannot be served
WARM_TEXTS, WARM_PIECES, WARM_SECONDS = (1, 8, 32), (4, 12, 40), 5.0  # batches of the warm-up
IDLE_BEATS = 10  # heartbeats without a batch before memory is returned

_LOG = logging.getLogger("regard.serve")

_Say = Callable[[Message], None]


def main(server: socket) -> int:
    """Load the run, then answer until the server closes its end."""
    for number in (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
        signal.signal(number, signal.SIG_IGN)
    out, lock = server.makefile("wb"), Lock()
    os.dup2(2, 1)  # output of libraries goes to the log, not to the server's stdout

    def say(message: Message) -> None:
        with lock:
            out.write(packed(message))
            out.flush()

    try:
        return serve(server.makefile("rb"), say)
    except ConnectionError:  # the server is gone
        return 0


def serve(given: BinaryIO, say: _Say) -> int:
    """Run a conversation, from its job to its end; return the exit code."""
    torch.set_num_threads(1)
    log_compiling(logging.DEBUG)  # to the server's stderr
    sys.setswitchinterval(SWITCH)
    job = _next(given)
    if not isinstance(job, Job):
        return 0
    try:
        answering, cards = Answering.load(
            Path(job.run), batch_tokens=job.batch_tokens, changes=job.changes, engine=job.engine, threads=job.threads
        )
    except RegardError as error:
        say(Failure(number=job.number, reason=str(error)))
        return _FAULT
    except OSError as error:
        fault = f"{error.filename or job.run}: {error.strerror or error}"
        say(Failure(number=job.number, reason=fault))
        return _FAULT
    rehearse(answering)
    say(Loaded(number=job.number, cards=cards, shortcut=answering.shortcut()))
    with Desk(answering, job.threads, say) as desk:
        while (message := _next(given)) is not None:
            desk.hear(message)
    return 0


class Desk:
    """Messages of the server, and the threads that handle them."""

    def __init__(self, answering: Answering, threads: int, say: _Say) -> None:
        self.answering, self.say = answering, say
        self._scheduler, self._works = CoreScheduler(threads, [lane.share for lane in LANES]), dict[str, Work]()
        self._free = SimpleQueue[Answering]()
        for slot in [answering, *(answering.beside() for _ in range(len(LANES) * threads - 1))]:
            self._free.put(slot)
        self._pool = ThreadPoolExecutor(len(LANES) * threads, "model", initializer=torch.set_num_threads, initargs=(1,))
        self._ended, self._heart = Event(), Thread(target=self._beat, name="heart", daemon=True)

    def __enter__(self) -> "Desk":
        self._heart.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        self._ended.set()
        self._heart.join()

    def hear(self, message: ServerMessage | Failure) -> None:
        """Count, mark unwanted texts, or hand a batch to a thread."""
        match message:
            case Leave():
                if (work := self._works.get(message.batch)) is not None:
                    work.leave(message.rows)
            case CountTexts():
                self._reply(message, count(self.answering, message))
            case Batch() | Warm():
                name, lane = (message.name, message.lane) if isinstance(message, Batch) else ("warm", 0)
                self._works[name] = work = Work(CoreTime(self._scheduler, lane))
                self._pool.submit(self._answer, name, work, message)
            case _:
                self._reply(message, Failure(reason="invalid message"))

    def _reply(self, message: Message, reply: Message) -> None:
        reply.number = message.number
        self.say(reply)

    def _answer(self, name: str, work: Work, message: Batch | Warm) -> None:
        answering = self._free.get()
        reply: BatchReply | Warmed | Failure
        try:
            with work.core_time:
                reply = answer(answering, message, work)
        except BaseException as error:  # whatever ends this thread, waiting requests must fail
            _LOG.exception("a thread of the model ended")
            reply = Failure(reason=type(error).__name__)
        finally:
            self._free.put(answering)
            self._works.pop(name, None)
        reply.seconds = work.core_time.seconds
        self._reply(message, reply)

    def _beat(self) -> None:
        """Send heartbeats until the end. After an idle time, return the memory of former batches."""
        idle = 0
        while not self._ended.wait(BEAT):
            steps = {name: work.steps for name, work in list(self._works.items())}
            idle = 0 if steps else idle + 1
            if idle == IDLE_BEATS:
                release_memory()
            try:
                self.say(Beat(steps=steps, cpu=time.process_time()))
            except ConnectionError:
                return


def count(answering: Answering, message: CountTexts) -> CountReply | Failure:
    """Return the cost of each text of a question in pieces, or its answer if it is only copied."""
    try:
        found = answering.along(message.question.route).count(message.question)
    except Exception as error:
        _LOG.exception("texts could not be counted")
        return Failure(reason=line_of(error))
    return CountReply(outcomes=[Found(Carried(one)) if isinstance(one, Prediction) else one for one in found])


def answer(
    answering: Answering, message: Batch | Warm, unwanted: Unwanted = frozenset
) -> BatchReply | Warmed | Failure:
    """Return the answer to a message. An error is an answer, too: the process lives on."""
    try:
        if isinstance(message, Warm):
            return Warmed(speed=warm(answering))
        done = answering.answer(message.question, message.most, unwanted, message.encoded)
    except Exception as error:  # an error of one request must not end the model of the others
        _LOG.exception("a batch could not be answered")
        return Failure(reason=line_of(error))
    answers: dict[int, Found | Refused] = {row: Found(Carried(one)) for row, one in done.found.items()}
    answers |= done.refused
    outcomes = [answers[row] for row in sorted(answers)]
    return BatchReply(outcomes=outcomes, sizes=list(done.sizes), out_of_memory=done.out_of_memory)


def rehearse(answering: Answering) -> None:
    """Run once everything that compiles code, so that no request waits for a compiler."""
    task = answering.predictor.task
    few = (as_line(task.vocabularies[name].spread(1) for name in task.inputs),)
    answering.answer(Predict.lines(few))
    if task.answer.written:
        answering.answer(Predict.lines(few, n_best=2))
        answering.answer(Predict.lines(few, prefix=task.vocabularies[task.last].spread(1)))


def warm(answering: Answering) -> float:
    """Translate a few batches, as the first ones are slower; return the best source pieces per second."""
    task, speed, start = answering.predictor.task, 0.0, time.perf_counter()
    for count, pieces in product(WARM_TEXTS, WARM_PIECES):
        question = Predict.lines([as_line(task.vocabularies[name].spread(pieces) for name in task.inputs)] * count)
        size = sum(found.pieces for found in answering.count(question) if isinstance(found, TextCost))
        before = time.perf_counter()
        if before - start > WARM_SECONDS:
            break
        answering.answer(question)
        speed = max(speed, size / (time.perf_counter() - before))
    few = as_line(task.vocabularies[name].spread(1) for name in task.inputs)
    answering.answer(Predict.lines([few], explain=True))
    return speed


def _next(given: BinaryIO) -> ServerMessage | Failure | None:
    """Return the next message; None at the end, an error in place of an unreadable one."""
    head = given.read(HEAD)
    if len(head) < HEAD:
        return None
    size = int.from_bytes(head, "big")
    body = given.read(size)
    if len(body) < size:
        return None
    try:
        return unpacked(body)
    except ValueError:
        return Failure(reason="invalid message")
