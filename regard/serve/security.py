"""Access control: host names, origins, API keys, rate limits, and content security policy.

Host names and origins are checked against DNS rebinding and forged requests. Keys are kept as digests alone.
"""

import hmac
import ipaddress
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from regard.errors import ConfigError, nearest

TRANSLATE, SUGGEST, ADMIN = "translate", "suggest", "admin"
RIGHTS = (TRANSLATE, SUGGEST, ADMIN)
DEFAULT_RIGHTS = frozenset({TRANSLATE, SUGGEST})  # of a key without any, and of a client where none is required
BROWSER_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
NO_PAGE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"  # for any answer but a page
OWN_PAGE = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"  # for a page with a policy of its own
_ANY = "*"
_LONGEST_NAME = 64  # characters of the name of a key
_KEY_LINE = "key, tab, name, tab, rights: the last two may be left out"
MINUTE = 60.0  # seconds
FORGET_ABOVE = 10_000  # clients


def new_nonce() -> str:
    """Nonce of the scripts and styles of one answer."""
    return secrets.token_urlsafe(18)


def page_policy(nonce: str) -> str:
    """Policy: only scripts and styles with this nonce, and requests to this server alone."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class Hosts:
    """Accepted names of the `Host` header.

    Every IP address is accepted: no DNS look-up is needed, so it cannot be rebound. Accepted names are localhost, the
    machine's own and the given ones.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = {"localhost", socket.gethostname().lower(), *(name.lower().rstrip(".") for name in names)}

    def allows(self, header: str) -> bool:
        """Return True if a `Host` header names this server."""
        if _ANY in self._names:
            return True
        name = host_name(header)
        return name is not None and (name in self._names or name.endswith(".localhost") or _is_address(name))


class AllowedOrigins:
    """Allowed origins: this server, and the given ones."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        """Set the origins, in the form that browsers send."""
        self._origins = set(origins)

    def allows(self, origin: str | None, host: str) -> bool:
        """Return True if a request with this `Origin` (None: not from a browser) may access this `Host`."""
        if origin is None or _ANY in self._origins or origin in self._origins:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in {"http", "https"} and parts.netloc.lower() == host.lower()


@lru_cache(256)
def host_name(header: str) -> str | None:
    """Return the host name: `Example.org:5000` → `example.org`; None for an invalid one."""
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return None
    if parts.netloc != header or "@" in header or not parts.hostname:
        return None
    return parts.hostname.rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Holder(NamedTuple):
    """Name of a key, which reveals nothing of it, and its rights."""

    name: str
    rights: frozenset[str] = DEFAULT_RIGHTS
    named: bool = False  # by the file of keys; other names depend on the order of the keys


class Keys:
    """Accepted keys, hashed with a salt of this process and compared in constant time.

    A line of a file has a key and, after tabs, its name for logs and metrics and its rights: `translate,suggest,admin`.
    A key without a name is `key 1`, `key 2` in order; without rights it has DEFAULT_RIGHTS. Two keys with one name are
    one client: an old key and its successor.
    """

    def __init__(self, keys: Iterable[str] = (), file: Path | None = None) -> None:
        """Raise ConfigError for a file without a key, OSError or UnicodeError for an unreadable one."""
        self._salt, self._file = secrets.token_bytes(32), file
        given = dict.fromkeys(map(self._digest, keys))
        self._given = {digest: Holder(f"key {number}") for number, digest in enumerate(given, 1)}
        self._holders = self._given
        self.reread()

    def __len__(self) -> int:
        return len(self._holders)

    def __repr__(self) -> str:
        return f"Keys({len(self)})"

    def holder(self, key: str) -> Holder | None:
        """Return the name and rights of a key; None for an unknown key."""
        digest, found = self._digest(key), None
        for known, holder in self._holders.items():  # all of them: the time must not reveal a match
            if hmac.compare_digest(digest, known):
                found = holder
        return found

    def reread(self) -> None:
        """Read the keys of the file again. On an error, raise as the constructor does and keep the old keys."""
        if self._file is None:
            return
        holders = dict(self._given)
        for number, line in enumerate(self._read(self._file).splitlines(), 1):
            key, name, rights, *rest = [*map(str.strip, line.split("\t")), "", ""]
            if not key or key.startswith("#"):
                continue
            if any(rest):
                raise ConfigError("--api-keys", f"'{self._file}', line {number}: more than three columns", _KEY_LINE)
            named = name[:_LONGEST_NAME] or f"key {len(holders) + 1}"
            holders.setdefault(self._digest(key), Holder(named, self._rights(rights, number), bool(name)))
        if len(holders) == len(self._given):
            raise ConfigError("--api-keys", f"there is no key in '{self._file}'", "one a line")
        self._holders = holders

    def _rights(self, typed: str, line: int) -> frozenset[str]:
        rights = frozenset(filter(None, map(str.strip, typed.split(","))))
        for right in sorted(rights - {*RIGHTS}):
            hint = f"{nearest(right, RIGHTS)}; rights are {', '.join(RIGHTS)}"
            raise ConfigError("--api-keys", f"'{self._file}', line {line}: '{right}' is not a right", hint)
        return rights or DEFAULT_RIGHTS

    def _read(self, file: Path) -> str:
        try:
            return file.read_text(encoding="utf-8-sig")  # Windows writes a byte order mark
        except UnicodeDecodeError as error:
            raise ConfigError("--api-keys", f"'{file}' is not UTF-8", "a text file with one key a line") from error

    def _digest(self, key: str) -> bytes:
        return hmac.digest(self._salt, key.encode("utf-8", "surrogatepass"), "sha256")


def same_secret(given: str, wanted: str) -> bool:
    """Return True if two secrets are equal, in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode("utf-8", "surrogatepass"))


def read_keys(option: str, given: Sequence[str], file: Path | None) -> Keys:
    """Return typed keys and those of a file, one a line. Raises ConfigError."""
    if not all(key.strip() for key in given):
        raise ConfigError(option, "is empty", "a long random text")
    return Keys(given, file)


class Rates:
    """Rate limit of each client, in windows of a minute that begin with its first request.

    A client that does not slow down is banned after `flood` refusals, each of which expires after a minute.
    """

    def __init__(self, limit: int, flood: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.flood, self._clock = limit, flood, clock
        self._windows: dict[str, tuple[float, int]] = {}  # client → start, requests
        self._refusals: dict[str, list[float]] = {}

    def wait(self, client: str) -> float:
        """Count a request of a client; return the seconds that it must wait (0: none)."""
        if self.limit < 0:
            return 0.0
        now = self._clock()
        self._forget(now)
        began, count = self._windows.get(client, (now, 0))
        if now - began >= MINUTE:
            began, count = now, 0
        if count < self.limit:
            self._windows[client] = began, count + 1
            return 0.0
        if self.flood >= 0:
            self._refusals[client] = [*self._refusals.get(client, []), now][-self.flood - 1 :]
        return max(began + MINUTE - now, 0.001)

    def banned(self, client: str) -> bool:
        """Return True if a client was refused too often recently."""
        recent = [when for when in self._refusals.get(client, ()) if self._clock() - when < MINUTE]
        return 0 <= self.flood < len(recent)

    def _forget(self, now: float) -> None:
        if len(self._windows) > FORGET_ABOVE:
            self._windows = {name: window for name, window in self._windows.items() if now - window[0] < MINUTE}
            self._refusals = {name: times for name, times in self._refusals.items() if now - times[-1] < MINUTE}
