"""Sealed folders: written atomically, and verified when they are opened.

A folder is made under a temporary name beside its place, every file is flushed to disk, the seal (sizes and SHA-256
of all files) is written last, then one rename puts it in its place. A process that dies before leaves it unchanged.
"""

import errno
import hashlib
import os
import secrets
import shutil
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from regard.config import read_checked, write_checked

SEAL = "manifest.json"


@contextmanager
def making(place: Path) -> Iterator[Path]:
    """Make a temporary folder beside `place` to fill and publish; it is removed afterwards in any case."""
    place.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(place)
    made = place.with_name(f"{_prefix(place)}{os.getpid()}.{secrets.token_hex(4)}")
    made.mkdir()
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def seal(folder: Path, content: Mapping[str, Any]) -> None:
    """Flush all files to disk and write their digests, with `content`, which `unseal` returns."""
    files = {}
    for path in sorted(folder.iterdir()):
        bring_to_disk(path)
        files[path.name] = [path.stat().st_size, file_digest(path)]
    write_checked(folder / SEAL, {"content": content, "files": files})
    bring_to_disk(folder)


def unseal(folder: Path, only: Collection[str] | None = None) -> dict[str, Any] | None:
    """Return the content of a seal; None if the folder is missing or any byte has changed.

    With `only`, other files may be missing and are not verified.
    """
    try:
        body = read_checked(folder / SEAL)
        for name in body["files"] if only is None else only:
            size, digest = body["files"][name]
            path = folder / name
            if path.stat().st_size != size or file_digest(path) != digest:
                return None
        content: dict[str, Any] = body["content"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return content


def publish(made: Path, place: Path) -> None:
    """Rename a sealed folder to its place. A complete one that another process put there meanwhile is kept instead."""
    while True:
        try:
            made.rename(place)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
        else:
            bring_to_disk(place.parent)
            return
        if unseal(place) is not None:
            return
        damaged = place.with_name(f"{_prefix(place)}{os.getpid()}.{secrets.token_hex(4)}")
        with suppress(FileNotFoundError):  # another process has just done the same
            place.rename(damaged)
        shutil.rmtree(damaged, ignore_errors=True)


def _prefix(place: Path) -> str:
    return f".{place.name}.{socket.gethostname()}."


def _remove_abandoned(place: Path) -> None:
    """Remove temporary folders of dead processes of this machine."""
    prefix = _prefix(place)
    for folder in place.parent.glob(".*"):
        process = folder.name.removeprefix(prefix).split(".")[0]
        if folder.name.startswith(prefix) and process.isdigit() and not _lives(int(process)):
            shutil.rmtree(folder, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it lives and belongs to somebody else
        return True
    return True


def bring_to_disk(path: Path) -> None:
    """Flush a file or folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
