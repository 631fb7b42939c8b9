"""API keys: only digests of them are kept."""

import hmac
import secrets
from collections.abc import Iterable


class Keys:
    """The keys that a server takes, hashed with a salt of this process, compared in constant time."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._salt = secrets.token_bytes(32)
        self._digests = sorted({self._digest(key) for key in keys})

    def __bool__(self) -> bool:
        return bool(self._digests)

    def __repr__(self) -> str:
        return f"Keys({len(self._digests)})"

    def holder(self, key: str) -> str | None:
        """A name for whoever has this key, which tells nothing of it; None for a key that is not among them."""
        digest, found = self._digest(key), None
        for number, known in enumerate(self._digests):  # all of them, so that the time tells nothing
            if hmac.compare_digest(digest, known):
                found = f"key {number}"
        return found

    def _digest(self, key: str) -> bytes:
        return hmac.digest(self._salt, key.encode("utf-8", "surrogatepass"), "sha256")


def same_secret(given: str, wanted: str) -> bool:
    """Whether two secrets are equal, in a time that tells nothing."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode("utf-8", "surrogatepass"))
