"""Settings of a server, each with its default and its option."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, get_origin, get_type_hints

from regard.errors import ConfigError, nearest
from regard.serve.security import Keys, host_name, read_keys

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
NO_LIMIT = -1
ALL_PROGRAMS, NONE = ("deepl", "apertium", "tmserver"), "none"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:\[[0-9a-f:.]+\]|[^\s/?#@:\[\]]+)(?::\d{1,5})?")
_LINK = re.compile(r"https?://[^\s/?#\"'<>]+[^\s\"'<>]*", re.IGNORECASE)
_SIZE = re.compile(r"(\d{1,12})\s*([KMG]i?B?|B)?", re.IGNORECASE)


def read_size(option: str, text: str) -> int:
    """Return the bytes of `2MiB`, `512k` or `1000`. Raises ConfigError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise ConfigError(option, f"'{text}' is not a size", "512KiB, 2MiB or a number of bytes")
    unit = (match[2] or "B")[0].upper()
    return int(match[1]) * {"B": 1, "K": KIB, "M": MIB, "G": GIB}[unit]


def read_prefix(option: str, text: str) -> str:
    """Return a path prefix: `translate/` → `/translate`; an empty text stays empty. Raises ConfigError."""
    path = text.strip("/")
    if not re.fullmatch(r"[A-Za-z0-9_~.-]*(/[A-Za-z0-9_~.-]+)*", path) or ".." in path:
        raise ConfigError(option, f"'{text}' is not a path", "/translate")
    return f"/{path}" if path else ""


def read_origin(option: str, text: str) -> str:
    """Return an origin in the browsers' form: `https://A.example:443/` → `https://a.example`. Raises ConfigError."""
    origin = text.strip().lower().rstrip("/")
    if origin != "*" and not _ORIGIN.fullmatch(origin):
        raise ConfigError(option, f"'{text}' is not an origin", "https://that.example, without a path; * for all")
    scheme, _, place = origin.partition("://")
    return origin.removesuffix({"http": ":80", "https": ":443"}.get(scheme, "")) if place else origin


def read_host(option: str, text: str) -> str:
    """Return a host name without a port; `*` stays. Raises ConfigError."""
    name = text.strip()
    if name != "*" and host_name(name) != name.lower().rstrip("."):
        raise ConfigError(
            option, f"'{text}' is not a host name", "translate.example, without https:// or a port; * for all"
        )
    return name


def read_link(option: str, text: str) -> str:
    """Return the URL of a page; an empty text stays empty. Raises ConfigError."""
    if text and not _LINK.fullmatch(text):
        raise ConfigError(option, f"'{text}' is not the URL of a page", "https://that.example/key")
    return text


def read_proxy(option: str, text: str) -> str:
    """Return an IP address or network. Raises ConfigError."""
    try:
        network = ipaddress.ip_network(text.strip())
    except ValueError as error:
        raise ConfigError(
            option, f"'{text}' is not an address: {error}", "127.0.0.1, or a network: 172.16.0.0/12"
        ) from error
    return str(network) if network.num_addresses > 1 else str(network.network_address)


def read_hour(option: str, text: str | None) -> time | None:
    """Return an hour of the day: `nightly` is 03:00; None for none. Raises ConfigError."""
    if text is None:
        return None
    try:
        return datetime.strptime("03:00" if text == "nightly" else text, "%H:%M").time()
    except ValueError as error:
        raise ConfigError(option, f"'{text}' is not an hour", "nightly, or 03:00") from error


def read_canary(option: str, text: str) -> tuple[Path, float]:
    """Return a run and its fraction of requests: `runs/new=10%` or `runs/new=0.1`. Raises ConfigError."""
    run, _, typed = text.rpartition("=")
    try:
        fraction = float(typed.removesuffix("%")) / (100 if typed.endswith("%") else 1)
    except ValueError:
        fraction = 0.0
    if not run or not 0 < fraction < 1:
        raise ConfigError(option, f"'{text}' is not a run and its share of requests", "runs/new=10%")
    return Path(run), fraction


def read_programs(option: str, text: str) -> tuple[str, ...]:
    """Return names of programs; `none` is none. Raises ConfigError."""
    names = tuple(dict.fromkeys(filter(None, text.lower().replace(" ", "").split(","))))
    for name in set(names) - {*ALL_PROGRAMS, NONE}:
        raise ConfigError(option, f"'{name}' is not a program with an API here", nearest(name, (*ALL_PROGRAMS, NONE)))
    return tuple(name for name in names if name != NONE)


class Form(NamedTuple):
    """Typed form of a setting, if it differs from the setting."""

    kind: Any = None  # None: the setting's
    read: Callable[..., Any] = lambda _, typed: typed  # option, typed text → setting; raises ConfigError
    write: Callable[[Any], Any] = lambda setting: setting  # setting → typed text


SAME = Form()
SIZE = Form(str, read_size, lambda size: f"{size // MIB}MiB")
CODES = Form(str, lambda _, typed: tuple(filter(None, typed.replace(" ", "").split(","))), ",".join)
_KEYS, KEY_FILE = Form(list[str], read_keys, lambda _: []), Form(Path | None, write=lambda _: None)
MILLISECONDS = Form(float, lambda _, typed: typed / 1000, lambda seconds: seconds * 1000)
PROGRAM_NAMES = Form(str, read_programs, ",".join)
OFF = Form(bool, lambda _, typed: not typed, lambda on: not on)


class Option(NamedTuple):
    """The option of a setting: `--name`, or `REGARD_NAME` in the environment."""

    metavar: str | None  # None: a flag
    help: str
    least: float | None = None
    most: float | None = None
    name: str = ""  # if it differs from the setting's
    form: Form = SAME
    group: str = ""  # its heading in --help

    @property
    def flag(self) -> str:
        """The typed name: `--max-body`."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def variables(self) -> list[str]:
        """Names in the environment; the second is LibreTranslate's."""
        return [f"{prefix}_{self.name.upper()}" for prefix in ("REGARD", "LT")]


_access_option, _limit_option = partial(Option, group="Network and access"), partial(Option, group="Limits")
_load_option, _page_option = partial(Option, group="Batching and load"), partial(Option, group="Page, files and logs")


def repeated(
    metavar: str, text: str, name: str, read: Callable[[str, str], Any], made: Callable[..., Option] = _access_option
) -> Option:
    """Return an option that may be repeated."""
    form = Form(list[str], lambda option, typed: tuple(read(option, one) for one in typed), list)
    return made(metavar, f"{text}; may be repeated.", name=name, form=form)


@dataclass(frozen=True)
class Settings:
    """All settings of a server, in the order of `regard serve --help`. -1: no limit, as in LibreTranslate."""

    host: Annotated[str, _access_option("ADDRESS", "Address to listen on; 0.0.0.0: all interfaces.")] = "127.0.0.1"
    port: Annotated[int, _access_option("INTEGER", "Port to listen on; 0: any free one.", 0, 65535)] = 5000
    keys: Annotated[
        Keys,
        _access_option("KEY", "Require this key; may be repeated.", name="api_key", form=_KEYS),
        _access_option(
            "FILE",
            "File of keys, one a line, with a name and rights; SIGHUP reloads it.",
            name="api_keys",
            form=KEY_FILE,
        ),
    ] = field(default_factory=Keys)
    insecure: Annotated[bool, _access_option(None, "Allow other machines without a key.")] = False
    allowed_hosts: Annotated[
        tuple[str, ...], repeated("NAME", "Allow this Host name (*: all)", "allowed_host", read_host)
    ] = ()  # in addition to addresses, localhost and the machine's own name
    cors_origins: Annotated[
        tuple[str, ...], repeated("URL", "Allow CORS requests from this origin", "cors_origin", read_origin)
    ] = ()  # in the browsers' form, see `read_origin`; "*": any
    trusted_proxies: Annotated[
        tuple[str, ...],
        repeated(
            "ADDRESS", "Trust X-Forwarded-For and -Proto from this address or network", "trusted_proxy", read_proxy
        ),
    ] = ()

    char_limit: Annotated[int, _limit_option("INTEGER", "Maximum characters of a text; -1: no limit.", -1)] = 5000
    batch_limit: Annotated[int, _limit_option("INTEGER", "Maximum texts of a request; -1: no limit.", -1)] = 128
    alternatives_limit: Annotated[
        int, _limit_option("INTEGER", "Maximum alternatives of a text; -1: no limit.", -1)
    ] = 10
    req_limit: Annotated[
        int, _limit_option("INTEGER", "Rate limit, requests a minute per key or address; -1: no limit.", -1)
    ] = NO_LIMIT
    req_flood_threshold: Annotated[
        int, _limit_option("INTEGER", "Refused requests a minute that ban a client; -1: none.", -1)
    ] = NO_LIMIT
    max_body: Annotated[int, _limit_option("SIZE", "Maximum size of a request.", form=SIZE)] = 2 * MIB
    max_file: Annotated[int, _limit_option("SIZE", "Maximum size of a file.", form=SIZE)] = 10 * MIB
    max_terms: Annotated[int, _limit_option("INTEGER", "Maximum terms of a glossary.", 1)] = 50_000
    max_term_alternatives: int = 50  # translations of one term
    max_cost: Annotated[
        int, _limit_option("INTEGER", "Maximum cost of a request in tokens, see GET /v1/limits.", 1)
    ] = 1_000_000
    max_maps: int = 2 * MIB  # of an answer with attention maps

    max_queue: Annotated[int, _load_option("INTEGER", "Maximum queue length of a model, in sentences.", 1)] = 256
    max_batch_tokens: Annotated[int, _load_option("INTEGER", "Maximum tokens of a batch.", 1)] = 8192
    changes: tuple[str, ...] = ()  # settings of the models: decoding.precision=int8
    engine: Annotated[
        str | None,
        _load_option(
            "NAME", "Engine that answers: ctranslate2, onnx or runtime. (default: an export's own; Regard's for runs)"
        ),
    ] = None
    batch_wait: Annotated[
        float,
        _load_option("MS", "Longest wait of a batch for more texts.", 0, name="batch_wait_ms", form=MILLISECONDS),
    ] = 0.005  # seconds
    request_timeout: Annotated[float, _load_option("SECONDS", "Timeout of a request.", 0.1)] = 30.0
    shutdown_grace: Annotated[float, _load_option("SECONDS", "Time for running requests at shutdown.", 0)] = 20.0
    threads: Annotated[
        int | None,
        _load_option(
            "INTEGER", "Parallel batches of each model, a core each. (default: its share of all cores, at most 4)", 1
        ),
    ] = None

    direct_search: Annotated[
        int | None,
        _load_option(
            "INTEGER",
            "Requests at hand up to which the server itself searches short texts of small exports; 0: never."
            " (default: 4 on one core; else 1, or 8 in threads where a search takes less than 2 ms)",
            0,
        ),
    ] = None
    canaries: Annotated[
        tuple[tuple[Path, float], ...],
        repeated(
            "RUN=PERCENT", "Serve this run for a share of its languages' requests", "canary", read_canary, _load_option
        ),
    ] = ()
    access_log: Annotated[
        str | None, _page_option("FILE", "Log each request as a JSON line, without its texts; -: stdout.")
    ] = None
    log_texts: Annotated[bool, _page_option(None, "Add the source texts to the access log.")] = False
    metrics: Annotated[bool, _page_option(None, "Serve Prometheus metrics at /metrics.")] = False
    metrics_auth_token: Annotated[str, _access_option("TOKEN", "Token of /metrics.")] = field(default="", repr=False)
    web_ui: Annotated[bool, _page_option(None, "Serve the API without the page.", name="disable_web_ui", form=OFF)] = (
        True
    )
    files_translation: Annotated[
        bool, _page_option(None, "Disable the translation of files.", name="disable_files_translation", form=OFF)
    ] = True
    suggestions: Annotated[Path | None, _page_option("FILE", "File of suggested translations.")] = None
    learn: Annotated[
        time | None,
        _page_option(
            "HOUR",
            "Teach the suggestions at this hour: nightly (03:00) or HH:MM.",
            form=Form(str | None, read_hour, lambda _: None),
        ),
    ] = None
    memories: Annotated[
        tuple[Path, ...],
        _page_option(
            "FILE",
            "Translation memory of a pair of languages; may be repeated.",
            name="memory",
            form=Form(list[Path], lambda _, typed: tuple(typed), list),
        ),
    ] = ()
    insecure_memory: Annotated[
        bool,
        _page_option(None, "Let other machines without a key add to the memories and to what --learn teaches."),
    ] = False
    memory_threshold: Annotated[
        int, _page_option("INTEGER", "Minimum similarity of a reported segment in per cent.", 30, 100)
    ] = 70
    programs: Annotated[
        tuple[str, ...],
        _page_option("NAMES", "APIs beside LibreTranslate's, or none.", form=PROGRAM_NAMES),
    ] = ALL_PROGRAMS
    glossaries: Annotated[
        Path | None, _page_option("FOLDER", "Folder of stored glossaries. (default: kept until the end)")
    ] = None
    url_prefix: Annotated[str, _access_option("PATH", "Prefix of all URLs.", form=Form(str, read_prefix))] = ""
    key_link: Annotated[
        str,
        _access_option("URL", "Page where users get a key.", name="get_api_key_link", form=Form(str, read_link)),
    ] = ""
    load_only: Annotated[
        tuple[str, ...], _load_option("CODES", "Load only runs of these languages: en,de.", form=CODES)
    ] = ()

    @classmethod
    def options(cls) -> dict[str, list[Option]]:
        """Return the options by setting."""
        hints = get_type_hints(cls, include_extras=True)
        return {
            setting: [option._replace(name=option.name or setting) for option in hint.__metadata__]
            for setting, hint in hints.items()
            if get_origin(hint) is Annotated
        }

    @classmethod
    def read(cls, typed: Mapping[str, Any]) -> Self:
        """Return the settings of typed options, by name. Raises ConfigError."""
        values = {}
        for setting, options in cls.options().items():
            first = options[0]
            values[setting] = first.form.read(first.flag, *(typed[option.name] for option in options))
        return cls(**values)

    @property
    def adds_to_memory(self) -> bool:
        """Return True if clients may add to the memories: those with a key, of this machine, or all if allowed."""
        alone = self.loopback and not self.trusted_proxies
        return bool(self.keys) or alone or self.insecure_memory

    @property
    def loopback(self) -> bool:
        """Return True if only this machine can reach the server."""
        return self.host in LOOPBACK or self.host.startswith("127.")
