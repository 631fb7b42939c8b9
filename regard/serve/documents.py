"""Documents that clients upload: translated one after another, and kept until they are fetched or expire."""

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from regard.serve.downloads import KEPT_SECONDS, Downloads
from regard.serve.engine.faults import ServingError
from regard.serve.errors import ApiError, later, of_engine

MOST_WAITING, MOST_OF_CLIENT = 8, 4  # unfinished documents of the server, of a client: each is in memory
_SOON = 5  # seconds to wait for room

_LOG = logging.getLogger("regard.serve")


class WrittenDocument(NamedTuple):
    """A translated document, with warnings of lost numbers and the like."""

    data: bytes
    warnings: Sequence[str] = ()


@dataclass
class UploadedDocument:
    """A document of one client; requests about it need its key."""

    id: str
    key: str
    owner: str
    client: str  # whose documents are limited: the name of a key, or an address
    name: str  # of the translated file
    characters: int
    task: asyncio.Task[None] | None = None
    status: str = "queued"  # translating, done, error
    kept: str = ""  # name in the downloads
    warnings: Sequence[str] = ()
    problem: str = ""
    until: float = 0.0  # when it expires, once it is done

    @property
    def unfinished(self) -> bool:
        """Return whether it waits for its translation."""
        return self.status in ("queued", "translating")


class Documents:
    """Uploaded documents by id. They take turns, in the order in which they came."""

    def __init__(self, downloads: Downloads, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._downloads, self._clock = downloads, clock
        self._turn = asyncio.Lock()
        self._known = dict[str, UploadedDocument]()

    @property
    def running(self) -> UploadedDocument | None:
        """The document that is being translated."""
        return next((one for one in self._known.values() if one.status == "translating"), None)

    def check_room(self, client: str) -> None:
        """Raise ApiError where too many documents wait, of this client or in all."""
        waiting = [one.client for one in self._known.values() if one.unfinished]
        if len(waiting) >= MOST_WAITING or waiting.count(client) >= MOST_OF_CLIENT:
            raise later(429, f"Slowdown: at most {MOST_OF_CLIENT} documents of a client wait at a time", _SOON)

    def add(
        self, owner: str, client: str, name: str, characters: int, work: Callable[[], Awaitable[WrittenDocument]]
    ) -> UploadedDocument:
        """Put a document into the queue; `work` translates it. Raises ApiError where too many wait."""
        self.check_room(client)
        self._forget()
        made = UploadedDocument(secrets.token_hex(16), secrets.token_hex(32), owner, client, name, characters)
        made.task = asyncio.create_task(self._run(made, work), name=f"document {made.id}")
        self._known[made.id] = made
        return made

    def find(self, owner: str, name: str, key: str) -> UploadedDocument:
        """Return a client's document of an id and a key. Raises ApiError if it has none."""
        self._forget()
        found = self._known.get(name)
        if found is None or found.owner != owner or not hmac.compare_digest(found.key.encode(), key.encode()):
            raise ApiError(404, "Document not found")
        return found

    def path(self, document: UploadedDocument) -> Path:
        """Return the file of a translation. Raises ApiError for one that is not ready, failed or has expired."""
        if document.unfinished:
            raise later(503, "The document is not ready yet", _SOON)
        found = self._downloads.find(document.kept) if document.status == "done" else None
        if found is None:
            raise ApiError(404, document.problem or "Document not found")
        return found

    async def delete(self, document: UploadedDocument) -> None:
        """Delete a translation that was fetched."""
        self._known.pop(document.id, None)
        self._downloads.delete(document.kept)

    async def stop(self) -> None:
        """Cancel what is unfinished."""
        tasks = [one.task for one in self._known.values() if one.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, document: UploadedDocument, work: Callable[[], Awaitable[WrittenDocument]]) -> None:
        try:
            async with self._turn:
                document.status = "translating"
                written = await work()
            document.kept = await self._downloads.keep(document.name, written.data)
            document.status, document.warnings = "done", written.warnings
        except (ServingError, ApiError) as error:
            document.problem = (error if isinstance(error, ApiError) else of_engine(error)).message
        except Exception:
            document.problem = "Internal server error"
            _LOG.exception("a document failed: %s", document.id)
        if document.unfinished:
            document.status = "error"
        document.until = self._clock() + KEPT_SECONDS

    def _forget(self) -> None:
        """Forget expired documents; their files are deleted by the downloads."""
        now = self._clock()
        self._known = {name: one for name, one in self._known.items() if one.unfinished or now < one.until}
