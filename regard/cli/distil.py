"""regard distil"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import emit, resumable, say_unless
from regard.cli.files import is_change
from regard.cli.options import (
    Json,
    Quiet,
    check_folder,
    file_option,
    folder_option,
    integer_option,
    name_option,
    number_option,
)
from regard.errors import ConfigError

TeachersAndSettings = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TEACHER...] [KEY=VALUE...]", help="Runs that translate, and settings of the student."),
]
StudentText = Annotated[
    list[Path], file_option("--text", help="Source text to translate, one sentence a line; repeatable.")
]
OtherTranslations = Annotated[
    Path | None, file_option(help="Translations of --text by another program, instead of a teacher.")
]
StudentDevSource = Annotated[Path | None, file_option(help="Source text of the dev set.")]
StudentDevTarget = Annotated[
    Path | None,
    file_option(
        help="Its translation. (default: the dev files that the teacher was trained with; a held-out part does not "
        "count)"
    ),
]
ShapeOption = Annotated[str, name_option(help="Size of the student: small, tiny, base_memory or base.")]
DroppedFraction = Annotated[
    float, number_option("--drop", min=0, max=0.9, help="Fraction of the worst translations to drop.")
]
TrainingMinutes = Annotated[float, number_option(min=0.01, help="Time limit of training.")]
TranslatingWorkers = Annotated[
    int | None, integer_option(min=1, help="Processes that translate. (default: one a core)")
]
StudentRun = Annotated[Path, folder_option(help="Folder of the student's run.")]


def distil_command(
    words: TeachersAndSettings = None,
    *,
    text: StudentText,
    run: StudentRun = Path("runs/student"),
    translated: OtherTranslations = None,
    dev_source: StudentDevSource = None,
    dev_target: StudentDevTarget = None,
    shape: ShapeOption = "tiny",
    drop: DroppedFraction = 0.05,
    minutes: TrainingMinutes = 90.0,
    workers: TranslatingWorkers = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a small, fast student on what teachers write.

    Several teachers translate as an ensemble. The student has a deep encoder, a shallow recurrent decoder, 8-bit
    weights and a shortlist. Interrupted, the same command continues. For a teacher that was trained without dev files,
    --dev-source and --dev-target must be given.

    regard distil runs/en-de --text news.en --dev-source dev.en --dev-target dev.de --run runs/small
    regard distil runs/a runs/b --text train.en --text news.en --minutes 60
    regard distil --text news.en --translated news.de --dev-source dev.en --dev-target dev.de
    """
    dev = {side: file for side, file in (("source", dev_source), ("target", dev_target)) if file is not None}
    if len(dev) == 1:
        raise ConfigError("--dev-source", "goes with --dev-target", "give both, or none")
    changes = [word for word in words or [] if is_change(word)]
    teachers = [Path(word) for word in words or [] if not is_change(word)]
    for teacher in teachers:
        check_folder(teacher)
    from regard.recipes.distillation import DistillationRequest, distil

    request = DistillationRequest(teachers, text, run, translated, dev or None, shape, drop, minutes, workers, changes)
    with resumable():
        report = distil(request, say_unless(quiet), quiet=quiet)
    emit(report, as_json=as_json)
