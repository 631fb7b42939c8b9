"""The time of a program of several steps, over all its calls."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.config import write_atomically

TICK = 5.0  # seconds between two notes: a process that is killed loses no more


class SpentTime:
    """Seconds of all calls, noted in a file while they are counted."""

    def __init__(self, file: Path, *, counts: bool = False) -> None:
        """`counts`: this call is counted from now on, else from `counting` on."""
        self._file, self._start = file, time.monotonic() if counts else None
        self._before = float(json.loads(file.read_text("utf-8"))) if file.is_file() else 0.0

    @property
    def seconds(self) -> float:
        """Seconds so far, of all calls."""
        return self._before + (0.0 if self._start is None else time.monotonic() - self._start)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count, and note the seconds every TICK, however it ends."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        ended = threading.Event()
        self._start = self._start or time.monotonic()
        clock = threading.Thread(target=self._note_until, args=(ended,), daemon=True)
        clock.start()
        try:
            yield
        finally:
            ended.set()
            clock.join()
            self._before, self._start = self.seconds, None
            write_atomically(self._file, json.dumps(self._before))

    def _note_until(self, ended: threading.Event) -> None:
        while not ended.wait(TICK):
            write_atomically(self._file, json.dumps(self.seconds))
