"""Small files that are there complete or not at all, with a checksum where they are read back; strict JSON."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


CHECKSUM = "sha256"


def write_checked(path: Path, values: Mapping[str, Any]) -> None:
    """Write an object in place of what was there, atomically."""
    write_atomically(path, json.dumps({**values, CHECKSUM: _checksum(values)}, indent=1))


def read_checked(path: Path, *, required: bool = True) -> dict[str, Any]:
    """Return what `write_checked` wrote. Raises ValueError where it is not as it was, OSError where it is not there.

    Unless it is `required`, an object without a checksum, as earlier versions wrote it, is taken as it is.
    """
    found = parse_json(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")
    given = found.pop(CHECKSUM, None)
    if given != _checksum(found) and (required or given is not None):
        raise ValueError("it is not as it was written")
    return found


def parse_json(text: str | bytes) -> Any:
    """Return the values of a JSON text. Raises ValueError for one that is none, or nested too deep."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("its groups are nested too deep") from error


def _checksum(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
