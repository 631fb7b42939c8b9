"""API keys: only digests of them are kept."""

import hmac
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.errors import ConfigError

MAX_NAME = 64  # characters of the name of a key


class Keys:
    """The keys that a server takes, hashed with a salt of this process, compared in constant time.

    A line of a file has a key and, behind a tab, its name for logs and metrics; a key without one is `key 1`, `key 2`
    in the order given. Two keys of one name are one client: an old one and its successor.
    """

    def __init__(self, keys: Iterable[str] = (), file: Path | None = None) -> None:
        """Raise ConfigError for a file without a key, OSError or UnicodeError for one that cannot be read."""
        self._salt, self._file = secrets.token_bytes(32), file
        given = dict.fromkeys(map(self._digest, keys))
        self._given = {digest: f"key {number}" for number, digest in enumerate(given, 1)}
        self._names = self._given
        self.reread()

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Keys({len(self)})"

    def holder(self, key: str) -> str | None:
        """A name for whoever has this key, which tells nothing of it; None for a key that is not among them."""
        digest, found = self._digest(key), None
        for known, name in self._names.items():  # all of them, so that the time tells nothing
            if hmac.compare_digest(digest, known):
                found = name
        return found

    def reread(self) -> None:
        """Take the keys that the file has now. Raise as the constructor does; then the keys stay as they were."""
        if self._file is None:
            return
        names = dict(self._given)
        for line in self._read(self._file).splitlines():
            key, _, name = line.strip().partition("\t")
            if (key := key.strip()) and not key.startswith("#"):
                names.setdefault(self._digest(key), name.strip()[:MAX_NAME] or f"key {len(names) + 1}")
        if len(names) == len(self._given):
            raise ConfigError("--api-keys", f"there is no key in '{self._file}'", "one a line")
        self._names = names

    def _read(self, file: Path) -> str:
        try:
            return file.read_text(encoding="utf-8-sig")  # Windows begins it with a mark
        except UnicodeDecodeError as error:
            raise ConfigError("--api-keys", f"'{file}' is not UTF-8", "a text file with one key a line") from error

    def _digest(self, key: str) -> bytes:
        return hmac.digest(self._salt, key.encode("utf-8", "surrogatepass"), "sha256")


def same_secret(given: str, wanted: str) -> bool:
    """Whether two secrets are equal, in a time that tells nothing."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode("utf-8", "surrogatepass"))


def read_keys(option: str, given: Sequence[str], file: Path | None) -> Keys:
    """Keys that were typed, and those of a file, one a line. Raises ConfigError."""
    if not all(key.strip() for key in given):
        raise ConfigError(option, "is empty", "a long random text")
    return Keys(given, file)
