"""`regard serve` in a process of its own, as a shell starts it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ADDRESS = "serving at "
PATIENCE = 240.0  # seconds; the machine may have much else to do


class Process:
    """`regard serve`, as a shell starts it."""

    def __init__(self, folder: Path, *words: object, stdin: int | None = subprocess.DEVNULL) -> None:
        self.log = folder / "log"
        with self.log.open("wb") as log:
            command = [sys.executable, "-m", "regard", "serve", *map(str, words)]
            self.process = subprocess.Popen(
                command, stdin=stdin, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "1"}
            )

    @property
    def said(self) -> str:
        return self.log.read_text("utf-8")

    def address(self) -> str:
        """Where it listens, as soon as it says so."""
        self._until(lambda: ADDRESS in self.said)
        return self.said.partition(ADDRESS)[2].split()[0]

    def ready(self) -> str:
        """Where it listens, as soon as it is ready."""
        address = self.address()
        self._until(lambda: status(f"{address}readyz") == 200)
        return address

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def _until(self, done: Callable[[], bool]) -> None:
        begin = time.monotonic()
        while not done():
            assert self.process.poll() is None, self.said
            assert time.monotonic() - begin < PATIENCE, self.said
            time.sleep(0.05)


def status(url: str) -> int:
    try:
        with urlopen(url) as answer:
            return answer.status
    except URLError as error:
        return getattr(error, "code", 0)
