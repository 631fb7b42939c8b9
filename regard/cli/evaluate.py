"""regard evaluate"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.emit import emit, say
from regard.cli.files import check_writable, paths_and_changes
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.predictor import Predictor

SystemsAndChanges = Annotated[
    list[str],
    typer.Argument(metavar="SYSTEM... [KEY=VALUE]", help="Runs or files of translations; changes to the runs."),
]
SourceFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Source text. (default: the run's test part)")]
ReferenceFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Reference translation, line by line.")]
TextFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Text for language models. (default: the run's test part)")
]
EvaluateOutput = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Keep the translations of one run.")
]
ByLength = Annotated[bool, typer.Option("--by-length", help="The first metric by length of the source, too.")]
MatrixOption = Annotated[
    Path | None, typer.Option("--confusion", metavar="FILE.svg", help="Draw which labels are taken for which.")
]
Perturb = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[:SHARE]",
        help="The same with words of the texts changed (typo, keyboard, case, swap, drop, synonym); may come again.",
    ),
]
Diagnose = Annotated[
    bool, typer.Option("--diagnose", help="What may be wrong with translations, word by word, worst sentences first.")
]
JsonObject = Annotated[bool, typer.Option("--json", help="One JSON object.")]


def evaluate_command(
    words: SystemsAndChanges,
    *,
    source: SourceFile = None,
    target: ReferenceFile = None,
    text: TextFile = None,
    output_file: EvaluateOutput = None,
    by_length: ByLength = False,
    confusion: MatrixOption = None,
    perturb: Perturb = None,
    diagnose: Diagnose = False,
    as_json: JsonObject = False,
) -> None:
    """Score answers (BLEU, accuracy, F1 ... with intervals); several are compared with the first, with p-values.

    Language models are scored by perplexity and bits per character, of their test part or --text; classifiers also by
    the precision, recall and F1 of each class, and a confusion matrix.

    regard evaluate runs/en-de --source test.en --target test.de

    regard evaluate runs/reviews data.test=new-reviews.tsv

    regard evaluate runs/a runs/b

    regard evaluate runs/en-de --perturb typo:0.1 --perturb drop

    regard evaluate runs/en-de --diagnose
    """
    from regard.reports import diagnosis_report, evaluate
    from regard.text.perturbations import perturbation_of

    systems, changes = paths_and_changes(words)
    _check_systems(systems)
    if diagnose:
        emit(diagnosis_report(_one_run(systems, changes), source, say), as_json=as_json, indent=2)
        return
    given = {"source": source, "target": target, "text": text}
    files = {column: path for column, path in given.items() if path is not None}
    check_writable(confusion, "--confusion")
    noise = [perturbation_of(one) for one in perturb or ()]
    found = evaluate(systems, files, changes=changes, output=output_file, by_length=by_length, perturbations=noise)
    report = found.report()
    if confusion is not None:
        if report.figure is None:
            raise ConfigError("--confusion", f"the answers of '{found.systems[0].name}' are no labels", "leave it out")
        confusion.write_bytes(report.figure(confusion.suffix))
    emit(report, as_json=as_json, indent=2)


def _check_systems(systems: list[Path]) -> None:
    """Raise ConfigError for the first system that is not there."""
    missing = [str(path) for path in systems if not path.exists()]
    if missing:
        raise ConfigError("SYSTEM", f"there is no '{missing[0]}'", "the folder of a run, or a file of translations")


def _one_run(systems: list[Path], changes: list[str]) -> "Predictor":
    """Open the only run. Raises ConfigError where there are several, or a file."""
    from regard.predictor import load

    if len(systems) != 1 or not systems[0].is_dir():
        raise ConfigError("--diagnose", "is for one run", "regard evaluate RUN --diagnose")
    return load(systems[0], changes)
