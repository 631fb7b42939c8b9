"""regard teach, regard undo and regard redo"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import emit, resumable, say_unless
from regard.cli.files import is_change
from regard.cli.options import Changes, Json, Quiet, RunArgument, TranslatorRun, folder_option
from regard.cli.train import OldTexts
from regard.errors import ConfigError

CorrectionsFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        help="Corrections: the file of regard serve --suggestions, or pairs (.tsv, .csv, .jsonl, .tmx, .po).",
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
    bool, typer.Option("--new", help="Also count as known: corrections of lessons that changed nothing.")
]
Again = Annotated[bool, typer.Option("--again", help="Also learn the corrections of undone versions.")]
TaughtRun = Annotated[
    Path | None, folder_option("--output", "-o", help="Folder to make. (default: the next version of RUN)")
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
    again: Again = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a translator on corrections of its answers.

    Takes 10 new corrections or more; lines of other languages are left out. Old text is mixed in. Trials learn a part
    of the corrections and are tested on the others; then a training learns all, and keeps the part of its change that
    does not harm old text in the trials. The weights change only if the tested corrections gain beyond chance, and the
    dev set of the run loses nothing beyond chance and at most 0.1 points; both are printed with intervals. The new
    weights are the next version of RUN, which predict and serve use; regard undo brings the version before it back.
    Corrections of an undone version are left out.

    regard teach runs/en-de better.jsonl
    regard teach runs/en-de pairs.tsv -o runs/taught
    regard teach runs/en-de --from-server https://translate.example
    regard teach runs/en-de better.jsonl --old train.en train.de training.max_minutes=10
    """
    from regard.recipes.corrections import fetched
    from regard.recipes.teach import TeachingRequest, teach

    words = [] if file is None else [str(file)]
    if from_server is not None and file is not None and is_change(str(file)):
        words, changes = [], [str(file), *(changes or [])]
    if len(words) + (from_server is not None) != 1:
        raise ConfigError("FILE", "must be given once", "regard teach RUN FILE, or --from-server URL")
    again_from_start = "the same command begins the lesson again; with -o FOLDER it would go on"
    with fetched(from_server or words[0]) as path, resumable(*([] if output else [again_from_start])):
        request = TeachingRequest(run, path, output, old, changes or [], new, again)
        taught = teach(request, say_unless(quiet), quiet=quiet)
    emit(taught.report, as_json=as_json)
    if taught.changed and taught.version is not None:
        say_unless(quiet)(f"{run}: version {taught.version} is in use (regard undo {run} brings the former back)")


def undo_command(run: RunArgument) -> None:
    """Bring the version of a run before the last regard teach back.

    A server of the run changes to it by itself. The undone corrections are not taught again, unless by regard redo or
    regard teach --again.

    regard undo runs/en-de
    """
    from regard.config import own_folder, settings_file
    from regard.recipes.corrections import undo_teaching

    folder = own_folder(run)
    settings_file(folder)
    undone = undo_teaching(folder)
    old = "" if undone.now else ", the weights before all corrections,"
    print(f"{run}: version {undone.now}{old} is in use again, in place of version {undone.before}")
    print(
        f"  {undone.corrections:,} corrections are left out of the next lessons; to take them back: regard redo {run}"
    )


def redo_command(run: RunArgument) -> None:
    """Bring the version of a run back that regard undo took away last.

    The next regard teach that changes the weights replaces it; then regard teach --again learns its corrections.

    regard redo runs/en-de
    """
    from regard.config import own_folder, settings_file
    from regard.recipes.corrections import redo_teaching

    folder = own_folder(run)
    settings_file(folder)
    redone = redo_teaching(folder)
    print(f"{run}: version {redone.now} is in use again, in place of version {redone.before}")
