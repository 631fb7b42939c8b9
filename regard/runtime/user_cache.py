"""The user's folder for what can be made again: compiled code and measurements. Nobody else may have written there."""

import os
import stat
from collections.abc import Callable
from pathlib import Path


class CacheRefused(OSError):
    """Raised for a cache entry that is unsafe to use: another user may have written it, or its kind is wrong."""


def cache_folder() -> Path:
    """Return the folder, which may not exist yet. Raises RuntimeError for a user without a home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"


def made_folder() -> Path:
    """Return the folder, made where it was not there.

    Raises CacheRefused for one that is a link, belongs to another user than this one or root, or that others may write
    to or exchange; OSError where it cannot be made.
    """
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    hint = "set XDG_CACHE_HOME to a folder of your own"
    if fault := _fault(folder.lstat(), stat.S_ISDIR):
        raise CacheRefused(f"{folder} {fault}, so what lies there is not used ({hint})")
    above = folder.parent.stat()
    if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:  # a group is often the user's own
        raise CacheRefused(
            f"others may exchange what lies in {folder.parent}, so it is not used ({hint}, or chmod go-w)"
        )
    return folder


def read_own(path: Path) -> bytes:
    """Read a file of the folder. Raises CacheRefused for a link, a pipe, or a file that another user could write."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if fault := _fault(os.fstat(descriptor), stat.S_ISREG):
            raise CacheRefused(f"{path} {fault}")
        return file.read()


def _fault(found: os.stat_result, is_kind: Callable[[int], bool]) -> str:
    """Return the fault in kind, owner or mode of a file; "" for none."""
    if not is_kind(found.st_mode):
        return "is a link or of another kind than it should be"
    if found.st_uid not in (os.getuid(), 0):
        return "belongs to another user"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "may be written by other users"
    return ""
