"""The lock of a run folder: one process at a time trains there, and nobody else changes or removes anything."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from regard.errors import ConfigError

LOCK = ".lock"


@contextmanager
def locked(folder: Path, *, make: bool = False) -> Iterator[None]:
    """Hold a folder, which is made first with `make`. The lock dies with its process.

    Raises ConfigError if another process holds it, OSError where the folder is missing or cannot be made.
    """
    while True:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        try:
            file = (folder / LOCK).open("ab")
        except FileNotFoundError:
            if not make:
                raise
            continue  # its last holder has just removed the folder
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                problem = f"'{folder}' is being trained by another process"
                raise ConfigError("run", problem, "wait for its end, or stop it") from error
            if _stands(file, folder / LOCK):
                yield
                return


def _stands(file: BinaryIO, path: Path) -> bool:
    """Whether an open file is the one at that place: whoever held it before may have removed it, folder and all."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
