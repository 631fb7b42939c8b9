"""A training in a process of its own, seen from outside."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import IO, Any, cast

from regard.config import plain
from regard.reports.compare.plan import Planned

DONE, FAULT, INTERRUPTED = 0, 2, 75  # exit codes of a worker, as those of `regard train`
ERROR, WARNING = "error: ", "warning: "  # how the lines of a worker begin
WORKER = (sys.executable, "-m", "regard.reports.compare.worker")
PATIENCE = 30.0  # seconds that a process gets to end once it was told to do so at once


def job_of(planned: Planned, *, resume: bool, threads: int) -> dict[str, Any]:
    """All that a worker is told, as JSON values: the settings themselves, since a config may be edited meanwhile."""
    return {"experiment": plain(planned.experiment()), "resume": resume, "threads": threads}


class Child:
    """A worker in a process group of its own, so that a Ctrl-C on the terminal reaches us alone."""

    def __init__(self, planned: Planned, *, resume: bool, threads: int) -> None:
        self.planned = planned
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed when it has been read
        self._process = subprocess.Popen(
            WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            start_new_session=True,
        )
        with suppress(BrokenPipeError):  # one that died at once is noticed soon enough
            self._stdin().write(json.dumps(job_of(planned, resume=resume, threads=threads)).encode() + b"\n")
            self._stdin().flush()

    @property
    def code(self) -> int | None:
        """How it ended, negative for a signal; None while it works."""
        return self._process.poll()

    def ask_to_end(self) -> None:
        """It saves first. Unlike a signal, the end of its stdin is heard even by one that has only just begun."""
        with suppress(BrokenPipeError):
            self._stdin().close()

    def end(self) -> None:
        """At once; what it saved before stays."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()

    def said(self) -> list[str]:
        """Its lines on stderr, once it has ended."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        self._close()
        return [line for line in lines if line.strip()]

    def _stdin(self) -> IO[bytes]:
        return cast(IO[bytes], self._process.stdin)  # a pipe was asked for

    def _close(self) -> None:
        self.ask_to_end()
        self._errors.close()
