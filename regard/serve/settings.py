"""What a server may be told: limits, places and doors."""

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path

from regard.errors import ConfigError
from regard.serve.security.hosts import host_name
from regard.serve.security.keys import Keys

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
NO_LIMIT = -1
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:\[[0-9a-f:.]+\]|[^\s/?#@:\[\]]+)(?::\d{1,5})?")
_LINK = re.compile(r"https?://[^\s/?#\"'<>]+[^\s\"'<>]*", re.IGNORECASE)
_SIZE = re.compile(r"(\d{1,12})\s*([KMG]i?B?|B)?", re.IGNORECASE)


@dataclass(frozen=True)
class Settings:
    """All settings of a server, with their defaults. -1 stands for no limit, as in LibreTranslate."""

    host: str = "127.0.0.1"
    port: int = 5000  # 0: any that is free
    url_prefix: str = ""  # "/translate", or nothing
    keys: Keys = field(default_factory=Keys)
    key_link: str = ""  # where a key can be had
    allowed_hosts: tuple[str, ...] = ()  # names besides addresses, localhost and the machine's own; "*": any
    cors_origins: tuple[str, ...] = ()  # as browsers write them: `read_origin`; "*": any
    trusted_proxies: tuple[str, ...] = ()  # addresses or networks whose X-Forwarded-For and -Proto are believed

    load_only: tuple[str, ...] = ()  # languages; (): all

    char_limit: int = 5000  # of a text
    batch_limit: int = 128  # texts of a request
    alternatives_limit: int = 10
    req_limit: int = NO_LIMIT  # requests a minute of one key or address
    req_flood_threshold: int = NO_LIMIT  # refusals by that limit until a key or an address is banned
    max_body: int = 2 * MIB
    max_file: int = 10 * MIB
    max_maps: int = 2 * MIB  # of an answer with all that a model looked at

    max_queue: int = 256  # texts that wait for a model
    max_batch_tokens: int = 8192
    batch_wait: float = 0.005  # seconds
    request_timeout: float = 30.0  # seconds that a request may wait, and that a client may send nothing
    shutdown_grace: float = 20.0  # seconds after which what is not answered yet is told to ask another server
    threads: int | None = None  # batches of each model at a time; None: a share of all cores but one

    metrics: bool = False
    metrics_auth_token: str = field(default="", repr=False)
    web_ui: bool = True
    files_translation: bool = True
    suggestions: Path | None = None  # the file they go to; None: they are refused

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK or self.host.startswith("127.")


def read_size(option: str, text: str) -> int:
    """`2MiB`, `512k` or `1000` → bytes. Raises ConfigError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise ConfigError(option, f"'{text}' is no size", "512KiB, 2MiB or a number of bytes")
    unit = (match[2] or "B")[0].upper()
    return int(match[1]) * {"B": 1, "K": KIB, "M": MIB, "G": GIB}[unit]


def read_prefix(option: str, text: str) -> str:
    """`translate/` → `/translate`; nothing stays nothing. Raises ConfigError."""
    path = text.strip("/")
    if not re.fullmatch(r"[A-Za-z0-9_~.-]*(/[A-Za-z0-9_~.-]+)*", path) or ".." in path:
        raise ConfigError(option, f"'{text}' is no path", "/translate")
    return f"/{path}" if path else ""


def read_origin(option: str, text: str) -> str:
    """`https://A.example:443/` → `https://a.example`, as browsers write it; `*` stays. Raises ConfigError."""
    origin = text.strip().lower().rstrip("/")
    if origin != "*" and not _ORIGIN.fullmatch(origin):
        raise ConfigError(option, f"'{text}' is no origin", "https://that.example, without a path; * for all")
    scheme, _, place = origin.partition("://")
    return origin.removesuffix({"http": ":80", "https": ":443"}.get(scheme, "")) if place else origin


def read_host(option: str, text: str) -> str:
    """A name as `Host` has it, without a port; `*` stays. Raises ConfigError."""
    name = text.strip()
    if name != "*" and host_name(name) != name.lower().rstrip("."):
        raise ConfigError(
            option, f"'{text}' is no name of a host", "translate.example, without https:// or a port; * for all"
        )
    return name


def read_link(option: str, text: str) -> str:
    """The address of a page; nothing stays nothing. Raises ConfigError."""
    if text and not _LINK.fullmatch(text):
        raise ConfigError(option, f"'{text}' is no address of a page", "https://that.example/key")
    return text


def read_proxy(option: str, text: str) -> str:
    """An address, or a network of addresses. Raises ConfigError."""
    try:
        network = ipaddress.ip_network(text.strip())
    except ValueError as error:
        raise ConfigError(
            option, f"'{text}' is no address: {error}", "127.0.0.1, or a network: 172.16.0.0/12"
        ) from error
    return str(network) if network.num_addresses > 1 else str(network.network_address)
