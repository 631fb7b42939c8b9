"""regard teach and regard undo"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import emit, resumable, say_unless
from regard.cli.files import is_change
from regard.cli.options import Changes, Json, Quiet, RunArgument, TranslatorRun
from regard.cli.train import OldTexts
from regard.errors import ConfigError

CorrectionsFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        help="Corrections: the file of regard serve --suggestions, or pairs (.tsv, .csv, .jsonl, .tmx).",
    ),
]
CorrectionsServer = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Server whose corrections are fetched, with an admin's key in REGARD_API_KEY; or its file.",
    ),
]
OnlyNew = Annotated[
    bool,
    typer.Option(
        "--new", help="Also count as known: corrections of attempts that changed nothing, and of undone versions."
    ),
]
TaughtRun = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FOLDER", help="Folder to make. (default: the next version of RUN)"),
]


def teach_command(
    run: TranslatorRun,
    file: CorrectionsFile = None,
    changes: Changes = None,
    *,
    from_server: CorrectionsServer = None,
    output: TaughtRun = None,
    old: OldTexts = None,
    new: OnlyNew = False,
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
    regard teach runs/en-de --from-server https://translate.example
    regard teach runs/en-de better.jsonl --old train.en train.de training.max_minutes=10
    """
    from regard.recipes.corrections import TeachingRequest, fetched, teach

    words = [] if file is None else [str(file)]
    if from_server is not None and file is not None and is_change(str(file)):
        words, changes = [], [str(file), *(changes or [])]
    if len(words) + (from_server is not None) != 1:
        raise ConfigError("FILE", "must be given once", "regard teach RUN FILE, or --from-server URL")
    with fetched(from_server or words[0]) as path, resumable():
        request = TeachingRequest(run, path, output, old, changes or [], new)
        taught = teach(request, say_unless(quiet), quiet=quiet)
    emit(taught.report, as_json=as_json)
    if taught.changed and taught.version is not None:
        say_unless(quiet)(f"{run}: version {taught.version} is in use (regard undo {run} brings the former back)")


def undo_command(run: RunArgument) -> None:
    """Bring the version of a run before the last regard teach back.

    A server of the run changes to it by itself. Its nightly lessons leave the undone corrections until 10 others come.

    regard undo runs/en-de
    """
    from regard.config import own_folder, settings_file
    from regard.recipes.corrections import undo_teaching

    folder = own_folder(run)
    settings_file(folder)
    number, before = undo_teaching(folder)
    own = "its own weights are" if not before else f"version {before} is"
    print(f"{run}: {own} in use, in place of version {number}")
