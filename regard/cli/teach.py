"""regard teach and regard undo"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import emit, resumable, say_unless
from regard.cli.options import Changes, Json, Quiet, RunArgument, TranslatorRun
from regard.cli.train import OldTexts

CorrectionsFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Corrections: the file of regard serve --suggestions, or pairs (.tsv, .csv, .jsonl, .tmx).",
    ),
]
TaughtRun = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FOLDER", help="Folder to make. (default: the next version of RUN)"),
]


def teach_command(
    run: TranslatorRun,
    file: CorrectionsFile,
    changes: Changes = None,
    *,
    output: TaughtRun = None,
    old: OldTexts = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a translator on corrections of its answers.

    Takes 10 new corrections or more; lines of other languages are left out. Old text is mixed in. The weights change
    only if corrections held out gain beyond chance, and the dev set of the run loses nothing beyond chance and at most
    0.1 points; both are printed with intervals. The new weights are the next version of RUN, which predict and serve
    use; regard undo brings the version before it back.

    regard teach runs/en-de better.jsonl
    regard teach runs/en-de pairs.tsv -o runs/taught
    regard teach runs/en-de better.jsonl --old train.en train.de training.max_minutes=10
    """
    from regard.recipes.corrections import TeachingRequest, teach

    request = TeachingRequest(run, file, output, old, changes or [])
    with resumable():
        taught = teach(request, say_unless(quiet), quiet=quiet)
    emit(taught.report, as_json=as_json)
    if taught.changed and taught.version is not None:
        say_unless(quiet)(f"{run}: version {taught.version} is in use (regard undo {run} brings the former back)")


def undo_command(run: RunArgument) -> None:
    """Bring the version of a run before the last regard teach back.

    A server of the run changes to it by itself.

    regard undo runs/en-de
    """
    from regard.config import own_folder, settings_file
    from regard.config.versions import undo_version

    folder = own_folder(run)
    settings_file(folder)
    number, before = undo_version(folder)
    own = "its own weights are" if not before else f"version {before} is"
    print(f"{run}: {own} in use, in place of version {number}")
