"""translator.json of an exported folder, and its other files as they were written."""

import hashlib
import json
from pathlib import Path
from typing import Any

SETTINGS_NAME = "translator.json"


class FolderError(ValueError):
    """Raised for a folder that is not an export, or a damaged one."""


def verified_settings(folder: Path) -> dict[str, Any]:
    """Read translator.json, and compare each file with its SHA-256 there. Raises FolderError."""
    settings = read_json(folder / SETTINGS_NAME)
    files = settings.get("files")
    if not isinstance(files, dict) or any(Path(name).name != name for name in files):
        raise FolderError(f"{folder / SETTINGS_NAME} does not name its files: export the run again")
    for name, digest in files.items():
        file = folder / name
        if not file.is_file() or _sha256(file) != digest:
            raise FolderError(f"{file} is {'damaged' if file.is_file() else 'missing'}: export the run again")
    return settings


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def read_json(file: Path) -> dict[str, Any]:
    """Return the object of a file. Raises FolderError."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FolderError(f"{file} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise FolderError(f"{file} is not a JSON object")
    return found
