"""Glossaries that clients store on the server and use by their id, each seen by the client that stored it alone."""

import json
import logging
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from regard.config.atomic_write import write_atomically
from regard.errors import ConfigError
from regard.serve.errors import ApiError
from regard.serve.settings import MIB

MOST_GLOSSARIES = 1000
MOST_CHARACTERS = 64 * MIB  # of all entries together
LONGEST_NAME = 1000  # characters
FULL = 456  # status of a used-up quota, as DeepL has it

_LOG = logging.getLogger("regard.serve")


class StoredTerms(NamedTuple):
    """The terms between two languages."""

    entries: str  # lines: source, tab, target
    term_count: int


class StoredGlossary(NamedTuple):
    """A glossary of one client."""

    id: str
    owner: str  # name of the client's key; "" for a client without one
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
    """Stored glossaries, by id: in memory, and in a folder if there is one."""

    def __init__(self, folder: Path | None) -> None:
        """Read the folder; a damaged file is logged and skipped. Raises ConfigError for an unusable folder."""
        self._folder = folder
        self._kept = dict[str, StoredGlossary]()
        if folder is not None:
            self._read(folder)

    def add(self, owner: str, name: str, dictionaries: Mapping[tuple[str, str], StoredTerms]) -> StoredGlossary:
        """Store a new glossary. Raises ApiError when the store is full, OSError when it cannot be written."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return self.put(StoredGlossary(str(uuid.uuid4()), owner, name, now, dictionaries))

    def put(self, glossary: StoredGlossary) -> StoredGlossary:
        """Store a glossary in place of that with its id. Raises as `add` does."""
        others = [one for one in self._kept.values() if one.id != glossary.id]
        if len(others) >= MOST_GLOSSARIES:
            raise ApiError(FULL, f"the server keeps at most {MOST_GLOSSARIES:,} glossaries: delete some")
        if sum(one.size for one in others) + glossary.size > MOST_CHARACTERS:
            raise ApiError(
                FULL, f"the glossaries of the server have no room for {glossary.size:,} characters: delete some"
            )
        if self._folder is not None:
            write_atomically(self._folder / f"{glossary.id}.json", glossary.to_json())
        self._kept[glossary.id] = glossary
        return glossary

    def of(self, owner: str) -> list[StoredGlossary]:
        """Return the glossaries of a client, the oldest first."""
        return sorted((one for one in self._kept.values() if one.owner == owner), key=lambda one: one.created)

    def find(self, owner: str, name: str) -> StoredGlossary:
        """Return a client's glossary of an id. Raises ApiError if it has none."""
        found = self._kept.get(name)
        if found is None or found.owner != owner:
            raise ApiError(404, "Glossary not found")
        return found

    def delete(self, owner: str, name: str) -> None:
        """Delete a client's glossary of an id. Raises ApiError if it has none, OSError if it cannot be deleted."""
        found = self.find(owner, name)
        if self._folder is not None:
            (self._folder / f"{found.id}.json").unlink(missing_ok=True)
        del self._kept[found.id]

    def _read(self, folder: Path) -> None:
        try:
            folder.mkdir(exist_ok=True)
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
