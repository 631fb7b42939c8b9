"""Glossaries that clients store on the server and use by their id. Clients without a key share theirs."""

import asyncio
import hmac
import json
import logging
import secrets
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from regard.config.atomic_write import write_atomically
from regard.errors import ConfigError
from regard.serve.errors import ApiError
from regard.serve.security import Holder
from regard.serve.settings import MIB

MOST_OWN, MOST_GLOSSARIES = 1000, 10_000  # of a client, of the server
MOST_OWN_CHARACTERS, MOST_CHARACTERS = 16 * MIB, 256 * MIB  # of all entries together
LONGEST_NAME = 1000  # characters
FULL = 456  # status of a used-up quota, as DeepL has it

_SALT = ".salt"  # file of the salt of digests
_T = TypeVar("_T")

_LOG = logging.getLogger("regard.serve")


class StoredTerms(NamedTuple):
    """The terms between two languages."""

    entries: str  # lines: source, tab, target
    term_count: int


class StoredGlossary(NamedTuple):
    """A glossary of one client."""

    id: str
    owner: str  # see `GlossaryStore.owner`
    name: str
    created: str  # ISO 8601
    dictionaries: Mapping[tuple[str, str], StoredTerms]  # by source and target, in normal form

    @property
    def size(self) -> int:
        """Characters of all entries."""
        return sum(len(one.entries) for one in self.dictionaries.values())

    def to_json(self) -> str:
        """Return the file of the glossary."""
        terms = [{"source": s, "target": t, **one._asdict()} for (s, t), one in self.dictionaries.items()]
        return json.dumps({**self._asdict(), "dictionaries": terms}, ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str) -> "StoredGlossary":
        """Return the glossary of a file. Raises ValueError, KeyError or TypeError for any other file."""
        values: dict[str, Any] = json.loads(text)
        terms = {
            (one["source"], one["target"]): StoredTerms(one["entries"], one["term_count"])
            for one in values.pop("dictionaries")
        }
        return cls(**values, dictionaries=terms)


class GlossaryStore:
    """Stored glossaries, by id: in memory, and in a folder if there is one. Changes take turns."""

    def __init__(self, folder: Path | None) -> None:
        """Read the folder; a damaged file is logged and skipped. Raises ConfigError for an unusable folder."""
        self._folder, self._turn = folder, asyncio.Lock()
        self._kept = dict[str, StoredGlossary]()
        self._salt = secrets.token_hex(32) if folder is None else self._read(folder)

    def owner(self, key: str, holder: Holder | None) -> str:
        """Return the owner of the glossaries of a client.

        That is the name of its key, for a key without a name a salted digest of it, and "" for all without a key.
        """
        if holder is None:
            return ""
        if holder.named:
            return holder.name
        digest = hmac.new(self._salt.encode(), key.encode("utf-8", "surrogatepass"), "sha256")
        return f"\t{digest.hexdigest()}"  # a name has no tab

    async def add(self, owner: str, name: str, dictionaries: Mapping[tuple[str, str], StoredTerms]) -> StoredGlossary:
        """Store a new glossary. Raises ApiError when the store is full, OSError when it cannot be written."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        made = StoredGlossary(str(uuid.uuid4()), owner, name, now, dictionaries)
        return await self._in_turn(lambda: self._put(made))

    async def change(
        self, owner: str, name: str, changed: Callable[[StoredGlossary], Awaitable[StoredGlossary]]
    ) -> StoredGlossary:
        """Store what `changed` returns for a client's glossary of an id. Raises as `find` and `add` do."""

        async def work() -> StoredGlossary:
            return await self._put(await changed(self.find(owner, name)))

        return await self._in_turn(work)

    def of(self, owner: str) -> list[StoredGlossary]:
        """Return the glossaries of a client, the oldest first."""
        return sorted((one for one in self._kept.values() if one.owner == owner), key=lambda one: one.created)

    def find(self, owner: str, name: str) -> StoredGlossary:
        """Return a client's glossary of an id. Raises ApiError if it has none."""
        found = self._kept.get(name)
        if found is None or found.owner != owner:
            raise ApiError(404, "Glossary not found")
        return found

    async def delete(self, owner: str, name: str) -> None:
        """Delete a client's glossary of an id. Raises ApiError if it has none, OSError if it cannot be deleted."""

        async def work() -> None:
            found = self.find(owner, name)
            if self._folder is not None:
                await asyncio.to_thread((self._folder / f"{found.id}.json").unlink, missing_ok=True)
            del self._kept[found.id]

        await self._in_turn(work)

    async def _in_turn(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Make a change after those before it, and to its end even if the client leaves."""

        async def whole() -> _T:
            async with self._turn:
                return await work()

        return await asyncio.shield(asyncio.ensure_future(whole()))

    async def _put(self, glossary: StoredGlossary) -> StoredGlossary:
        """Store a glossary in place of that with its id; the caller holds the lock."""
        others = [one for one in self._kept.values() if one.id != glossary.id]
        own = [one for one in others if one.owner == glossary.owner]
        _check_room(glossary, own, "for a client", MOST_OWN, MOST_OWN_CHARACTERS)
        _check_room(glossary, others, "in all", MOST_GLOSSARIES, MOST_CHARACTERS)
        if self._folder is not None:
            path = self._folder / f"{glossary.id}.json"
            await asyncio.to_thread(lambda: write_atomically(path, glossary.to_json()))
        self._kept[glossary.id] = glossary
        return glossary

    def _read(self, folder: Path) -> str:
        """Read the glossaries, and return the salt, which is made where there is none."""
        try:
            folder.mkdir(exist_ok=True)
            if not (folder / _SALT).exists():
                write_atomically(folder / _SALT, secrets.token_hex(32))
                (folder / _SALT).chmod(0o600)
            salt = (folder / _SALT).read_text("utf-8")
            files = sorted(folder.glob("*.json"))
        except OSError as error:
            problem = f"'{folder}' cannot be used: {(error.strerror or str(error)).lower()}"
            raise ConfigError("--glossaries", problem, "a folder that may be written") from error
        for file in files:
            try:
                found = StoredGlossary.of_json(file.read_text("utf-8"))
                self._kept[found.id] = found
            except (OSError, ValueError, KeyError, TypeError) as error:
                _LOG.error("--glossaries: '%s' is not a glossary and is skipped: %s", file, error)
        return salt


def _check_room(
    glossary: StoredGlossary, others: Sequence[StoredGlossary], whose: str, most: int, characters: int
) -> None:
    """Raise ApiError if there is no room for a glossary beside others."""
    if len(others) >= most:
        raise ApiError(FULL, f"the server keeps at most {most:,} glossaries {whose}: delete some")
    if sum(one.size for one in others) + glossary.size > characters:
        problem = f"the server keeps glossaries of at most {characters:,} characters {whose}"
        raise ApiError(FULL, f"{problem}, and this one has {glossary.size:,}: delete some")
