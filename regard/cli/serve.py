"""regard serve"""

from collections.abc import Mapping
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.group import tell
from regard.errors import CheckpointError, ConfigError, RegardError

if TYPE_CHECKING:
    from regard.serve.security.keys import Keys
    from regard.serve.settings import Settings

EXTRA = ("fastapi", "uvicorn", "prometheus_client", "python_multipart", "babel", "fastapi_offline")

Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Folders of trained models; several share the cores.")
]
Host = Annotated[str, typer.Option(metavar="ADDRESS", envvar="LT_HOST", help="Where to listen; 0.0.0.0 is everywhere.")]
Port = Annotated[int, typer.Option(min=0, max=65535, metavar="N", envvar="LT_PORT", help="0: any that is free.")]
ApiKey = Annotated[
    list[str] | None, typer.Option(metavar="KEY", envvar="LT_API_KEY", help="Answer only who has it; may be repeated.")
]
ApiKeys = Annotated[
    Path | None,
    typer.Option(metavar="FILE", envvar="LT_API_KEYS", help="Keys, one a line; the command line shows none."),
]
KeyLink = Annotated[
    str, typer.Option("--get-api-key-link", metavar="URL", envvar="LT_GET_API_KEY_LINK", help="Where a key can be had.")
]
Insecure = Annotated[
    bool, typer.Option("--insecure", envvar="LT_INSECURE", help="Let other machines ask without a key.")
]
AllowedHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", envvar="LT_ALLOWED_HOST", help="Answer to this name too (* for all); may be repeated."
    ),
]
CorsOrigin = Annotated[
    list[str] | None,
    typer.Option(metavar="URL", envvar="LT_CORS_ORIGIN", help="Pages of this origin may ask; may be repeated."),
]
TrustedProxy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ADDRESS",
        envvar="LT_TRUSTED_PROXY",
        help="Believe X-Forwarded-For and -Proto of this address or network; may be repeated.",
    ),
]
CharLimit = Annotated[
    int, typer.Option(min=-1, metavar="N", envvar="LT_CHAR_LIMIT", help="Characters of a text; -1: no limit.")
]
BatchLimit = Annotated[
    int, typer.Option(min=-1, metavar="N", envvar="LT_BATCH_LIMIT", help="Texts of a request; -1: no limit.")
]
Alternatives = Annotated[
    int,
    typer.Option(
        min=-1, metavar="N", envvar="LT_ALTERNATIVES_LIMIT", help="Other translations of a text; -1: no limit."
    ),
]
ReqLimit = Annotated[
    int,
    typer.Option(min=-1, metavar="N", envvar="LT_REQ_LIMIT", help="Requests a minute of a key or an address; -1: any."),
]
Flood = Annotated[
    int,
    typer.Option(
        min=-1, metavar="N", envvar="LT_REQ_FLOOD_THRESHOLD", help="Refusals a minute after which it is banned."
    ),
]
MaxBody = Annotated[str, typer.Option(metavar="SIZE", envvar="LT_MAX_BODY", help="Largest request.")]
MaxFile = Annotated[str, typer.Option(metavar="SIZE", envvar="LT_MAX_FILE", help="Largest file to translate.")]
MaxQueue = Annotated[
    int, typer.Option(min=1, metavar="N", envvar="LT_MAX_QUEUE", help="Sentences that may wait for a model.")
]
MaxBatch = Annotated[
    int, typer.Option(min=1, metavar="N", envvar="LT_MAX_BATCH_TOKENS", help="Pieces that a model reads at once.")
]
BatchWait = Annotated[
    float, typer.Option(min=0, metavar="MS", envvar="LT_BATCH_WAIT_MS", help="How long a batch waits for others.")
]
Timeout = Annotated[
    float, typer.Option(min=0.1, metavar="SECONDS", envvar="LT_REQUEST_TIMEOUT", help="How long a request may wait.")
]
Grace = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", envvar="LT_SHUTDOWN_GRACE", help="How long requests may go on at the end."),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        envvar="LT_THREADS",
        help="Batches of each model at a time, a core each. (default: its share of all cores but one, which the "
        "server needs; at most 4)",
    ),
]
Metrics = Annotated[bool, typer.Option("--metrics", envvar="LT_METRICS", help="Prometheus measures at /metrics.")]
MetricsToken = Annotated[
    str, typer.Option(metavar="TOKEN", envvar="LT_METRICS_AUTH_TOKEN", help="Show them only to who has it.")
]
NoPage = Annotated[bool, typer.Option("--disable-web-ui", envvar="LT_DISABLE_WEB_UI", help="The API without the page.")]
NoFiles = Annotated[
    bool,
    typer.Option("--disable-files-translation", envvar="LT_DISABLE_FILES_TRANSLATION", help="Translate no files."),
]
Suggestions = Annotated[
    Path | None, typer.Option(metavar="FILE", envvar="LT_SUGGESTIONS", help="Keep users' better translations here.")
]
Prefix = Annotated[str, typer.Option(metavar="PATH", envvar="LT_URL_PREFIX", help="All addresses begin so.")]
LoadOnly = Annotated[
    str,
    typer.Option(
        metavar="CODES", envvar="LT_LOAD_ONLY", help="Only runs between these languages: en,de; no other is loaded."
    ),
]


def serve_command(  # noqa: PLR0913  an option each
    runs: Runs,
    *,
    host: Host = "127.0.0.1",
    port: Port = 5000,
    api_key: ApiKey = None,
    api_keys: ApiKeys = None,
    insecure: Insecure = False,
    allowed_host: AllowedHost = None,
    cors_origin: CorsOrigin = None,
    trusted_proxy: TrustedProxy = None,
    char_limit: CharLimit = 5000,
    batch_limit: BatchLimit = 128,
    alternatives_limit: Alternatives = 10,
    req_limit: ReqLimit = -1,
    req_flood_threshold: Flood = -1,
    max_body: MaxBody = "2MiB",
    max_file: MaxFile = "10MiB",
    max_queue: MaxQueue = 256,
    max_batch_tokens: MaxBatch = 8192,
    batch_wait_ms: BatchWait = 5.0,
    request_timeout: Timeout = 30.0,
    shutdown_grace: Grace = 20.0,
    threads: Threads = None,
    metrics: Metrics = False,
    metrics_auth_token: MetricsToken = "",
    disable_web_ui: NoPage = False,
    disable_files_translation: NoFiles = False,
    suggestions: Suggestions = None,
    url_prefix: Prefix = "",
    get_api_key_link: KeyLink = "",
    load_only: LoadOnly = "",
) -> None:
    """Put trained models behind an HTTP API that LibreTranslate's clients speak, and behind a page.

    regard serve runs/en-de runs/de-en
    """
    given = dict(locals())
    check_installed()
    from regard.serve.api.suggest import check_place
    from regard.serve.catalogue import wanted
    from regard.serve.server import serve_runs

    for run in runs:
        _check_run(run)
    settings = _settings(given)
    _check_open(settings, insecure)
    if settings.suggestions is not None:
        check_place(settings.suggestions)
    serve_runs(settings, wanted(runs, settings.load_only))


def _check_open(settings: "Settings", insecure: bool) -> None:
    """Whoever lets other machines ask has said so, and is told of it."""
    if settings.loopback or settings.keys:
        return
    if not insecure:
        hint = "--api-key KEY, or --insecure to let them"
        raise ConfigError("--host", f"at {settings.host} other machines can ask, too", hint)
    tell(f"every machine that reaches {settings.host} can ask: there is no --api-key", "warning")


def _settings(given: Mapping[str, Any]) -> "Settings":
    """What was typed, read."""
    from regard.serve.settings import Settings, read_host, read_link, read_origin, read_prefix, read_proxy, read_size

    same = {field.name: given[field.name] for field in fields(Settings) if field.name in given}
    read = {
        "url_prefix": read_prefix("--url-prefix", given["url_prefix"]),
        "max_body": read_size("--max-body", given["max_body"]),
        "max_file": read_size("--max-file", given["max_file"]),
        "keys": _keys(given["api_key"] or [], given["api_keys"]),
        "key_link": read_link("--get-api-key-link", given["get_api_key_link"]),
        "allowed_hosts": tuple(read_host("--allowed-host", text) for text in given["allowed_host"] or ()),
        "cors_origins": tuple(read_origin("--cors-origin", text) for text in given["cors_origin"] or ()),
        "trusted_proxies": tuple(read_proxy("--trusted-proxy", text) for text in given["trusted_proxy"] or ()),
        "load_only": tuple(filter(None, given["load_only"].replace(" ", "").split(","))),
        "batch_wait": given["batch_wait_ms"] / 1000,
        "web_ui": not given["disable_web_ui"],
        "files_translation": not given["disable_files_translation"],
    }
    return Settings(**{**same, **read})


def _keys(given: list[str], file: Path | None) -> "Keys":
    from regard.serve.security.keys import Keys

    lines = [] if file is None else file.read_text(encoding="utf-8-sig").splitlines()  # Windows begins it with a mark
    kept = [key for line in lines if (key := line.strip()) and not key.startswith("#")]
    if file is not None and not kept:
        raise ConfigError("--api-keys", f"there is no key in '{file}'", "one a line")
    if not all(key.strip() for key in given):
        raise ConfigError("--api-key", "is empty", "a long random text")
    return Keys([*given, *kept])


def check_installed() -> None:
    """Raises RegardError where the packages of a server are missing."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        raise RegardError(f"serve: {', '.join(missing)} is not installed (pip install 'regard[serve]')")


def _check_run(run: Path) -> None:
    from regard.config import SETTINGS_FILE

    if not run.exists():
        raise CheckpointError(
            run, "there is no such folder", "the folder of a trained model: regard train --run FOLDER"
        )
    if not (run / SETTINGS_FILE).is_file():
        inside = (run / "model" / SETTINGS_FILE).is_file()
        raise CheckpointError(run, "is no trained model", f"did you mean '{run / 'model'}'?" if inside else "")
