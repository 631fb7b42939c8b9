"""regard serve"""

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from regard.cli.exchange import engine_folder, export_engine
from regard.cli.files import paths_and_changes
from regard.cli.group import warn
from regard.errors import ConfigError, RegardError
from regard.serve.settings import Settings

EXTRA = ("fastapi", "uvicorn", "prometheus_client", "python_multipart", "babel", "fastapi_offline")

RunsAndChanges = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN... [KEY=VALUE...]",
        help="Runs and exports, which share the cores; setting overrides of all.",
    ),
]


def serve_command(words: RunsAndChanges, **typed: Any) -> None:
    """Serve runs: a web page and a LibreTranslate-compatible API.

    Each option is also read from the environment: REGARD_PORT (or LT_PORT, as in LibreTranslate) is --port.

    regard serve runs/en-de
    regard serve runs/en-de runs/de-en decoding.precision=int8
    """
    check_installed()
    from regard.serve.api.suggest import check_place
    from regard.serve.catalogue import wanted
    from regard.serve.server import serve_runs

    runs, changes = paths_and_changes(words)
    if not runs:
        raise ConfigError("serve", "no run is named", "regard serve RUN")
    from regard.config import own_folder, settings_file, settings_folder

    settings = replace(Settings.read(typed), changes=tuple(changes))
    if settings.engine is not None:
        if settings.canaries:
            raise ConfigError("--canary", "does not go with --engine", "name the exports one by one")
        runs = [engine_folder(run, settings.engine, changes) for run in runs]
        engines = dict.fromkeys(runs, settings.engine)
    else:
        named = [*runs, *(run for run, _ in settings.canaries)]
        engines = {run: engine for run in named if (engine := export_engine(run)) is not None}
        folders = {run: run if run in engines else own_folder(run) for run in named}
        settings = replace(settings, canaries=tuple((folders[run], part) for run, part in settings.canaries))
        runs = [folders[run] for run in named]
        for run in runs:
            if run not in engines:
                settings_file(settings_folder(run))
    _check_open(settings)
    if settings.learn is not None and settings.suggestions is None:
        raise ConfigError("--learn", "needs the file of the suggestions", "--suggestions FILE")
    if settings.learn is not None and all(run in engines for run in runs):
        raise ConfigError("--learn", "an export cannot learn, and no run is named", "regard serve RUN")
    if settings.learn is not None and not settings.adds_to_memory:
        problem = f"suggestions from all machines that reach {settings.host} would change the weights"
        raise ConfigError("--learn", problem, "--api-keys FILE, or --insecure-memory to allow it")
    if settings.suggestions is not None:
        check_place(settings.suggestions)
    serve_runs(settings, wanted(runs, settings.load_only), engines)


def _options() -> Iterator[Parameter]:
    """The options of all settings, as Typer reads them from a signature."""
    kinds, defaults = get_type_hints(Settings), Settings()
    for setting, options in Settings.options().items():
        for option in options:
            typed = typer.Option(
                option.form.write(getattr(defaults, setting)),
                option.flag,
                metavar=option.metavar,
                envvar=option.variables,
                rich_help_panel=option.group,
                min=option.least,
                max=option.most,
                help=option.help,
            )
            kind = option.form.kind or kinds[setting]
            yield Parameter(option.name, Parameter.KEYWORD_ONLY, default=typed, annotation=kind)


_WORDS = signature(serve_command).parameters["words"]
serve_command.__signature__ = Signature([_WORDS, *_options()])  # type: ignore[attr-defined]  # Typer reads it


def _check_open(settings: Settings) -> None:
    """Raise ConfigError for other machines without a key, unless that is allowed; then warn."""
    if settings.loopback or settings.keys:
        return
    if not settings.insecure:
        hint = "--api-key KEY, or --insecure"
        raise ConfigError("--host", f"{settings.host} is open to other machines", hint)
    warn(f"no --api-key: every machine that reaches {settings.host} can use the API")


def check_installed() -> None:
    """Raises RegardError where the packages of a server are missing."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        raise RegardError(f"serve: {', '.join(missing)} is not installed (pip install -e '.[serve]')")
