"""The access log: a line of JSON for each request, which names a client and a model, and no text.

{"time": "2026-11-24T01:02:03.456Z", "request_id": "9f…", "client": "192.0.2.7", "key": "mastodon",
 "method": "POST", "route": "/translate", "status": 200, "bytes_in": 54, "bytes_out": 62, "seconds": 0.0312,
 "model": "en-de", "pair": "en-de", "texts": 1, "characters": 17}
"""

import json
import logging
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from regard.errors import ConfigError

STDOUT = "-"
MODE = 0o640  # of a new file: addresses of clients are not for everybody

_LOG = logging.getLogger("regard.serve")


@dataclass
class Asked:
    """What a request turned out to ask for; its endpoint fills it in, the frame around all endpoints reads it."""

    key: str = ""  # the name of the key that came with it
    pair: str = ""  # languages: en-de
    models: tuple[str, ...] = ()
    texts: int | None = None
    characters: int | None = None

    @property
    def model(self) -> str:
        """Name of the model; of several "several", of none nothing."""
        return self.models[0] if len(self.models) == 1 else "several" if self.models else ""

    def count(self, texts: Iterable[str], *models: str) -> None:
        """Note how many texts, with how many characters, which models are asked."""
        lengths = [len(text) for text in texts]
        self.texts, self.characters = len(lengths), sum(lengths)
        self.models = tuple(dict.fromkeys(models))


class AccessLog:
    """Where the lines go: a file, appended to, or stdout. What cannot be written is counted, and stops nothing."""

    def __init__(self, place: str) -> None:
        """Raise ConfigError where the file cannot be written."""
        self._place, self._lost = place, 0
        self._file = self._open()

    def write(self, values: dict[str, Any]) -> None:
        """Append a line, in one piece."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": now, **values}, separators=(",", ":")).encode() + b"\n"
        try:
            whole = os.write(self._file, line) == len(line)
        except OSError as error:
            whole = False
            if not self._lost:
                _LOG.error("--access-log: lines are lost: %s", error.strerror)
        self._lost += not whole
        if whole and self._lost:
            _LOG.warning("--access-log: is written again; %d lines were lost", self._lost)
            self._lost = 0

    def reopen(self) -> None:
        """Open the file of that name, which may be another one now. Raise ConfigError, and go on with the old one."""
        new, old = self._open(), self._file
        self._file = new
        if self._place != STDOUT:
            os.close(old)

    def close(self) -> None:
        """Close the file."""
        if self._place != STDOUT:
            os.close(self._file)

    def _open(self) -> int:
        if self._place == STDOUT:
            return sys.stdout.fileno()
        try:  # a FIFO that nobody reads would make the server wait for ever
            return os.open(
                Path(self._place), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, MODE
            )
        except OSError as error:
            problem = f"'{self._place}' cannot be written: {(error.strerror or str(error)).lower()}"
            raise ConfigError("--access-log", problem, "a file in a folder that there is, or - for stdout") from error
