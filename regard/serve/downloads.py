"""Translated files, kept for half an hour for download."""

import asyncio
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from regard.serve.settings import MIB

KEPT_SECONDS = 30 * 60.0  # seconds
MAX_TOTAL = 512 * MIB  # of all files together: the oldest are deleted first
MAX_NAME = 100  # bytes of a name, and of its suffix: a file system takes 255 in all
FILE_NAME = re.compile(r"[0-9a-f]{32}\.[\w.-]{1,200}")


class KeptFile(NamedTuple):
    """A file that was kept."""

    until: float
    size: int


class Downloads:
    """Files under unguessable names, in a folder that is deleted when the server ends."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = TemporaryDirectory(prefix="regard-files-", ignore_cleanup_errors=True)
        self._clock = clock
        self._kept: dict[str, KeptFile] = {}  # the oldest first

    async def keep(self, name: str, data: bytes) -> str:
        """Keep a file; return the name of its download."""
        known = f"{secrets.token_hex(16)}.{plain_name(name)}"
        self.forget(room=len(data))
        self._kept[known] = KeptFile(self._clock() + KEPT_SECONDS, len(data))  # counted also if the write is cancelled
        await asyncio.to_thread((Path(self._folder.name) / known).write_bytes, data)
        return known

    def find(self, name: str) -> Path | None:
        """Return the file of a name, while it is kept."""
        self.forget()
        return Path(self._folder.name) / name if name in self._kept else None

    def delete(self, name: str) -> None:
        """Delete a file, if it is still kept."""
        if self._kept.pop(name, None) is not None:
            (Path(self._folder.name) / name).unlink(missing_ok=True)

    def forget(self, *, room: int = 0) -> None:
        """Delete expired files, and then the oldest until there is room."""
        now, total = self._clock(), room + sum(kept.size for kept in self._kept.values())
        for name, kept in list(self._kept.items()):
            if kept.until > now and total <= MAX_TOTAL:
                break
            self.delete(name)
            total -= kept.size

    def close(self) -> None:
        """Delete everything."""
        self._folder.cleanup()


def plain_name(name: str) -> str:
    """Return a file name without special characters of a shell, a path or a header."""
    stem, dot, suffix = re.sub(r"[^\w.-]+", "_", name).rpartition(".")
    return f"{_cut(stem.strip('.')) or 'file'}{dot}{_cut(suffix)}"


def _cut(name: str) -> str:
    return name.encode()[:MAX_NAME].decode(errors="ignore")
