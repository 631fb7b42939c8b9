"""regard repair"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import emit, say_unless
from regard.cli.options import Json, Quiet, TranslatorRun, file_option, folder_option, integer_option, number_option
from regard.errors import ConfigError

_REFUSED = 1  # exit code where the old weights are kept

RepairsFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Up to 50 texts with their right translations: .tsv, .csv, .jsonl, .tmx, .po."),
]
RepairedRun = Annotated[Path, folder_option("--output", "-o", help="Run to write.")]
OtherText = Annotated[
    Path | None, file_option("--text", help="Other texts, one a line. (default: sources of the training set)")
]
MaxChanged = Annotated[
    float, number_option(min=0, max=100, help="Refuse above this percentage of changed answers without the error.")
]
RepairOld = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--old",
        metavar="SOURCE TARGET",
        help="Old pairs of two files, a sentence a line. (default: the training and the dev set of RUN)",
    ),
]
RepairSeed = Annotated[int, integer_option("--seed", help="Seed of variants and samples.")]


def repair_command(
    run: TranslatorRun,
    file: RepairsFile,
    *,
    output: RepairedRun,
    text: OtherText = None,
    old: RepairOld = None,
    max_changed: MaxChanged = 0.5,
    seed: RepairSeed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fix wrong translations, and prove that others stay.

    Trains the vectors of words that are translated wrongly, and all weights where that is not enough, on repairs and on
    variants of them (capitals, punctuation, numbers, names), and holds the answers to old texts. Prints how many are
    right, how many answers to 5,000 other texts changed (some of them; all with --json), and the dev set before and
    after. Writes no run, and ends with exit code 1, where fewer than 90 % of the wrong repairs hold, variants held out
    or the dev set suffer, or too many other answers change.

    regard repair runs/en-de repairs.tsv -o runs/repaired
    regard repair runs/en-de repairs.tsv -o runs/repaired --text other.en --json
    """
    if text is not None and not text.is_file():
        raise ConfigError("--text", f"there is no file '{text}'", "a text, one sentence a line")
    from regard.recipes.repair import RepairRequest, repair

    done = repair(RepairRequest(run, file, output, text, max_changed, seed, old), say_unless(quiet))
    emit(done.report, as_json=as_json)
    if not done.kept:
        raise typer.Exit(_REFUSED)
