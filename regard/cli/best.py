"""regard best"""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.emit import emit, resumable, say_unless
from regard.cli.files import both_sides, named_pairs, paths_and_changes
from regard.cli.group import INTERRUPTED
from regard.cli.options import Json, Quiet, data_option, folder_option, number_option, run_option
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.recipes.best.program import BestRequest

PairsAndSettings = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILES] [KEY=VALUE...]",
        help="Two text files, or one file of pairs (.tsv .csv .jsonl .tmx .po), and setting overrides of the networks.",
    ),
]
PairsSource = Annotated[Path | None, data_option(help="Source text to train on, one sentence a line.")]
PairsTarget = Annotated[Path | None, data_option(help="Its translation, line by line.")]
BestDevSource = Annotated[Path | None, data_option(help="Source text of the dev set.")]
BestDevTarget = Annotated[Path | None, data_option(help="Its translation. (default: a tenth is held out)")]
MoreSource = Annotated[Path | None, data_option("--text-source", help="Monolingual source text.")]
MoreTarget = Annotated[Path | None, data_option("--text-target", help="Monolingual target text.")]
Parent = Annotated[Path | None, run_option("--from", help="Run to initialise the networks from.")]
Minutes = Annotated[float, number_option(min=0.01, help="Time limit, wall clock, over all calls.")]
ResultFolder = Annotated[
    Path | None, folder_option(help="Folder of the run. (default: runs/best-..., named after the texts)")
]


def best_command(
    words: PairsAndSettings = None,
    *,
    source: PairsSource = None,
    target: PairsTarget = None,
    dev_source: BestDevSource = None,
    dev_target: BestDevTarget = None,
    text_source: MoreSource = None,
    text_target: MoreTarget = None,
    start: Parent = None,
    minutes: Minutes = 60.0,
    run: ResultFolder = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the best translator that a time limit allows.

    Tries phrase tables, networks, back-translation and ensembles; a step is kept if it gains on the dev set.
    report.html in the folder lists all steps. The folder is a run: regard predict FOLDER. Interrupted, the same
    command continues. Without pairs, --text-source and --text-target together train a translator.

    regard best train.en train.de --text-target more.de --minutes 60 --run runs/en-de
    regard best --text-source news.en --text-target news.de
    """
    from regard.recipes.best.pairs import default_folder
    from regard.recipes.best.program import BestRequest, best_translator

    files, changes = paths_and_changes(words or [])
    pairs = named_pairs(files, source, target)
    more = {side: file for side, file in (("source", text_source), ("target", text_target)) if file}
    if not pairs and len(more) < 2:
        hint = "two texts: regard best SOURCE TARGET; or a table: regard best pairs.tsv"
        raise ConfigError("--source", "must be given, and --target", hint)
    wanted = BestRequest(
        pairs=pairs,
        folder=run or default_folder(pairs or [*more.values()]),
        minutes=minutes,
        dev=both_sides("dev-", dev_source, dev_target),
        more=more,
        start=start,
        changes=changes,
        command=shlex.join(["regard", *sys.argv[1:]]),
    )
    if text_source and text_target and not pairs:
        return _without_pairs(text_source, text_target, wanted, as_json=as_json, quiet=quiet)
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
