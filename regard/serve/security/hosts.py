"""Which names a server answers to, and which pages may ask it: against DNS rebinding and forged requests."""

import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

ANY = "*"


class Hosts:
    """The names in `Host` that are answered.

    An address cannot be rebound, since nothing is looked up for it: every address is answered. Of names only localhost,
    the machine's own and those that are given.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = {"localhost", socket.gethostname().lower(), *(name.lower().rstrip(".") for name in names)}

    def allows(self, header: str) -> bool:
        """Whether a `Host` header names this server."""
        if ANY in self._names:
            return True
        name = host_name(header)
        return name is not None and (name in self._names or name.endswith(".localhost") or _is_address(name))


class Origins:
    """The pages that may ask: those of this server, and of origins that are given."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        """As browsers write them."""
        self._origins = set(origins)

    def allows(self, origin: str | None, host: str) -> bool:
        """Whether a request with this `Origin` (None: no browser sent it) may come to this `Host`."""
        if origin is None or ANY in self._origins or origin in self._origins:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in {"http", "https"} and parts.netloc.lower() == host.lower()


def host_name(header: str) -> str | None:
    """`Example.org:5000` → `example.org`; None for what is no host."""
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port  # raises where it is no number
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
