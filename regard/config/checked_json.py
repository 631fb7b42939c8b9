"""Small JSON objects with a checksum of their own: the SHA-256 of all else stands in them."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.config.atomic_write import write_atomically

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
