"""Small files that are there complete or not at all."""

import os
import re
from pathlib import Path

_UNFINISHED = re.compile(r"\..+\.\d+\.new")


def write_atomically(path: Path, text: str) -> None:
    """Write a text in place of what was there. A process killed meanwhile leaves the file as it was."""
    made = staged(path)
    try:
        with made.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    finally:
        made.unlink(missing_ok=True)


def staged(path: Path) -> Path:
    """The name under which this process writes a file or folder before it is put in its place."""
    return path.with_name(f".{path.name}.{os.getpid()}.new")


def is_unfinished(path: Path) -> bool:
    """Return whether a file or folder is `staged`: if nobody is writing there, a killed process has left it behind."""
    return _UNFINISHED.fullmatch(path.name) is not None
