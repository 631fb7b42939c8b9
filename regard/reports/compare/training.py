"""Trains what is planned: one after another in this process, or several at once in processes of their own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, cast

from regard.errors import RegardError
from regard.reports.compare.plan import Planned
from regard.reports.compare.progress import Watch
from regard.reports.compare.runs import Stage
from regard.runs import train_run
from regard.training.interrupt import Interrupted, listening

DONE, FAULT, INTERRUPTED = 0, 2, 75  # exit codes of a worker, as those of `regard train`
ERROR, WARNING = "error: ", "warning: "  # how the lines of a worker begin
WORKER = (sys.executable, "-m", "regard.reports.compare.worker")
PATIENCE = 30.0  # seconds that a process gets to end once it was told to do so at once
Failed = dict[str, str]  # run → why it could not be trained


def train_all(runs: Sequence[Planned], stages: Mapping[str, Stage], jobs: int, watch: Watch) -> Failed:
    """Trains the runs that have not finished. One that fails does not keep the others from being trained.

    Raises Interrupted after Ctrl-C or SIGTERM; what was being trained has saved.
    """
    todo = [planned for planned in runs if stages[planned.name] != "finished"]
    try:
        return _here(todo, stages, watch) if jobs == 1 else _apart(todo, stages, jobs, watch)
    except KeyboardInterrupt:
        raise Interrupted("stopped") from None


def _here(todo: Sequence[Planned], stages: Mapping[str, Stage], watch: Watch) -> Failed:
    failed = {}
    for planned in todo:
        watch.begin(planned)
        try:
            with watch.drawing():
                done = train_run(planned.experiment(), resume=stages[planned.name] == "begun", quiet=True)
        except RegardError as error:
            failed[planned.name] = str(error)
            watch.end(planned, f"failed: {error}")
            continue
        if not done:
            raise Interrupted(f"{planned.name} was saved")
        watch.end(planned)
    return failed


def _apart(todo: Sequence[Planned], stages: Mapping[str, Stage], jobs: int, watch: Watch) -> Failed:
    waiting, working, failed = deque(todo), list[_Child](), dict[str, str]()
    threads = max(1, (os.cpu_count() or 1) // jobs)
    with listening() as interruption:
        try:
            while working or (waiting and not interruption()):
                while waiting and len(working) < jobs and not interruption():
                    planned = waiting.popleft()
                    watch.begin(planned)
                    working.append(_Child(planned, resume=stages[planned.name] == "begun", threads=threads))
                for child in [child for child in working if child.process.poll() is not None]:
                    working.remove(child)
                    _settle(child, failed, watch, interrupted=interruption())
                if interruption():
                    for child in working:
                        child.ask_to_end()
                watch.draw()
                time.sleep(0.1)
        finally:
            for child in working:  # only where something went wrong, or after a second Ctrl-C
                child.end()
    if interruption():
        raise Interrupted("the runs that were being trained are saved")
    return failed


def _settle(child: "_Child", failed: Failed, watch: Watch, *, interrupted: bool) -> None:
    """What a process that has ended did."""
    code, said = child.process.returncode, child.said()
    for line in said:
        if line.startswith(WARNING):
            watch.warn(f"{child.planned.name}: {line.removeprefix(WARNING)}")
    if code == DONE:
        watch.end(child.planned)
    elif interrupted:
        watch.end(child.planned, "saved")
    else:
        how = f"was ended by signal {-code}" if code < 0 else "was stopped" if code == INTERRUPTED else "failed"
        told = [line.removeprefix(ERROR) for line in said if line.startswith(ERROR)] if code == FAULT else said[-1:]
        failed[child.planned.name] = "\n".join(told or [f"{child.planned.path}: {how}"])
        watch.end(child.planned, f"failed: {failed[child.planned.name].splitlines()[-1]}")


class _Child:
    """A training in a process and a group of its own, so that a Ctrl-C on the terminal reaches us alone."""

    def __init__(self, planned: Planned, *, resume: bool, threads: int) -> None:
        self.planned = planned
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed when it has been read
        self.process = subprocess.Popen(
            WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            start_new_session=True,
        )
        job: dict[str, Any] = {
            "config": str(planned.contender.config), "changes": planned.changes, "resume": resume, "threads": threads,
        }  # fmt: skip
        with suppress(BrokenPipeError):  # one that died at once is noticed soon enough
            self._stdin().write(json.dumps(job).encode() + b"\n")
            self._stdin().flush()

    def ask_to_end(self) -> None:
        """It saves first. Unlike a signal, the end of its stdin is heard even by one that has only just begun."""
        with suppress(BrokenPipeError):
            self._stdin().close()

    def end(self) -> None:
        """At once; what it saved before stays."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._close()

    def said(self) -> list[str]:
        """Its lines on stderr, once it has ended."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        self._close()
        return [line for line in lines if line.strip()]

    def _stdin(self) -> IO[bytes]:
        return cast(IO[bytes], self.process.stdin)  # a pipe was asked for

    def _close(self) -> None:
        with suppress(BrokenPipeError):
            self._stdin().close()
        self._errors.close()
