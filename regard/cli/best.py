"""regard best"""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.emit import emit, resumable, say_unless
from regard.cli.group import INTERRUPTED
from regard.cli.options import Json, Quiet
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.recipes.best import BestRequest

PairsAndSettings = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE] [KEY=VALUE...]",
        help="A table of pairs (.tsv .csv .jsonl), and setting overrides of the networks.",
    ),
]
PairsSource = Annotated[
    Path | None,
    typer.Option(metavar="FILE", rich_help_panel="Data", help="Source text to train on, one sentence a line."),
]
PairsTarget = Annotated[
    Path | None, typer.Option(metavar="FILE", rich_help_panel="Data", help="Its translation, line by line.")
]
JudgedSource = Annotated[
    Path | None, typer.Option(metavar="FILE", rich_help_panel="Data", help="Source text of the dev set.")
]
JudgedTarget = Annotated[
    Path | None,
    typer.Option(metavar="FILE", rich_help_panel="Data", help="Its translation. (default: a tenth is held out)"),
]
MoreSource = Annotated[
    Path | None, typer.Option("--text-source", metavar="FILE", rich_help_panel="Data", help="Monolingual source text.")
]
MoreTarget = Annotated[
    Path | None, typer.Option("--text-target", metavar="FILE", rich_help_panel="Data", help="Monolingual target text.")
]
Parent = Annotated[Path | None, typer.Option("--from", metavar="RUN", help="Run to initialize the networks from.")]
Minutes = Annotated[float, typer.Option(min=0.01, metavar="NUMBER", help="Time limit, wall clock, over all calls.")]
ResultFolder = Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the run.")]


def best_command(
    words: PairsAndSettings = None,
    *,
    source: PairsSource = None,
    target: PairsTarget = None,
    dev_source: JudgedSource = None,
    dev_target: JudgedTarget = None,
    text_source: MoreSource = None,
    text_target: MoreTarget = None,
    start: Parent = None,
    minutes: Minutes = 60.0,
    run: ResultFolder = Path("runs/best"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the best translator that a time limit allows.

    Tries phrase tables, networks, back-translation and ensembles; a step is kept if it gains on the dev set.
    report.html in the folder lists all steps. The folder is a run: regard predict FOLDER. Interrupted, the same
    command continues. Without --source the translator learns from monolingual text alone.

    regard best --source train.en --target train.de --text-target more.de --minutes 60 --run runs/en-de
    regard best --text-source news.en --text-target news.de
    """
    from regard.recipes.best import BestRequest, best_translator
    from regard.runs.request import config_and_changes

    table, changes = config_and_changes(words or [])
    pairs = _both("", source, target)
    _check_table(table, pairs, changes)
    wanted = BestRequest(
        pairs=pairs or ([table] if table else []),
        folder=run,
        minutes=minutes,
        dev=_both("dev-", dev_source, dev_target),
        more={side: file for side, file in (("source", text_source), ("target", text_target)) if file},
        start=start,
        changes=changes,
        command=shlex.join(["regard", *sys.argv[1:]]),
    )
    if not wanted.pairs and text_source and text_target:
        return _without_pairs(text_source, text_target, wanted, as_json=as_json, quiet=quiet)
    if not wanted.pairs:
        raise ConfigError("--source", "must be given, and --target", "or a table of pairs: regard best pairs.tsv")
    with resumable():
        report = best_translator(wanted, say=say_unless(quiet), quiet=quiet)
    emit(report, as_json=as_json)


def _without_pairs(source: Path, target: Path, wanted: "BestRequest", *, as_json: bool, quiet: bool) -> None:
    """Train on texts of two languages alone, for as many minutes. Raises ConfigError for what does not go with them."""
    from regard.recipes.no_pairs import UnpairedRequest, train_without_pairs

    for option, given in (("--from", wanted.start), ("--dev-source", wanted.dev), ("--json", as_json)):
        if given:
            raise ConfigError(option, "does not go with two texts without pairs", "leave it out")
    request = UnpairedRequest((source, target), wanted.folder, wanted.changes, minutes=wanted.minutes)
    if not train_without_pairs(request, say_unless(quiet), quiet=quiet):
        raise typer.Exit(INTERRUPTED)


def _check_table(table: Path | None, pairs: list[Path], changes: list[str]) -> None:
    """Raise ConfigError for two texts in the place of a table, and for a table beside two texts."""
    if table and changes and "=" not in changes[0]:
        hint = f"two texts: regard best --source {table} --target {changes[0]}"
        raise ConfigError(changes[0], "is neither a setting (KEY=VALUE) nor an option", hint)
    if table and pairs:
        raise ConfigError("--source", f"the pairs are named twice, beside '{table}'", "leave one of them out")


def _both(prefix: str, source: Path | None, target: Path | None) -> list[Path]:
    """Both files or none. Raises ConfigError for one alone."""
    if (source is None) != (target is None):
        given, missing = ("source", "target") if target is None else ("target", "source")
        raise ConfigError(f"--{prefix}{missing}", "must be given", f"beside --{prefix}{given}")
    return [one for one in (source, target) if one is not None]
