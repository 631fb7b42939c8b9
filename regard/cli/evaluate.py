"""regard evaluate"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.emit import emit, say
from regard.cli.files import check_writable, paths_and_changes
from regard.cli.options import Json, file_option
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.predictor import Predictor

SystemsAndChanges = Annotated[
    list[str],
    typer.Argument(
        metavar="SYSTEM... [KEY=VALUE...]", help="Runs, or files of translations; setting overrides of the runs."
    ),
]
SourceFile = Annotated[Path | None, file_option(help="Source text. (default: the run's test set)")]
ReferenceFile = Annotated[Path | None, file_option(help="Reference translation, line by line.")]
TextFile = Annotated[Path | None, file_option(help="Text, for language models. (default: the run's test set)")]
EvaluateOutput = Annotated[Path | None, file_option("--output", "-o", help="Write the translations of one run.")]
ByLength = Annotated[bool, typer.Option("--by-length", help="Report the first metric by source length, too.")]
MatrixOption = Annotated[
    Path | None, file_option("--plot", help="Write the confusion matrix of a classifier or tagger: .svg.")
]
Perturb = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[:RATE]",
        help="Evaluate on perturbed texts, too: typo, keyboard, case, swap, drop or synonym; may be repeated.",
    ),
]
Diagnose = Annotated[
    bool, typer.Option("--diagnose", help="List suspected errors of translations, word by word, worst sentences first.")
]


def evaluate_command(
    words: SystemsAndChanges,
    *,
    source: SourceFile = None,
    target: ReferenceFile = None,
    text: TextFile = None,
    output_file: EvaluateOutput = None,
    by_length: ByLength = False,
    plot: MatrixOption = None,
    perturb: Perturb = None,
    diagnose: Diagnose = False,
    as_json: Json = False,
) -> None:
    """Score runs: BLEU, accuracy, F1 ..., with intervals.

    Several systems are compared with the first, with p-values. Language models are scored by perplexity and bits per
    character on their test set or --text; classifiers also by precision, recall and F1 of each class, and a confusion
    matrix.

    regard evaluate runs/en-de --source test.en --target test.de
    regard evaluate runs/reviews data.test=new-reviews.tsv
    regard evaluate runs/a runs/b
    regard evaluate runs/en-de --perturb typo:0.1 --perturb drop
    regard evaluate runs/en-de --diagnose
    """
    systems, changes = paths_and_changes(words)
    _check_systems(systems)
    _check_plot(plot)
    from regard.reports.diagnosis import diagnosis_report
    from regard.reports.evaluation import evaluate
    from regard.text.perturbations import perturbation_of

    if diagnose:
        emit(diagnosis_report(_one_run(systems, changes), source, say), as_json=as_json, indent=2)
        return
    given = {"source": source, "target": target, "text": text}
    files = {column: path for column, path in given.items() if path is not None}
    noise = [perturbation_of(one) for one in perturb or ()]
    found = evaluate(systems, files, changes=changes, output=output_file, by_length=by_length, perturbations=noise)
    report = found.report()
    if plot is not None:
        if report.figure is None:
            raise ConfigError("--plot", f"'{found.systems[0].name}' predicts no labels, and has no confusion matrix")
        plot.write_bytes(report.figure(plot.suffix))
    emit(report, as_json=as_json, indent=2)


def _check_plot(plot: Path | None) -> None:
    """Raise ConfigError for a file that is not an SVG."""
    if plot is not None and plot.suffix.lower() != ".svg":
        raise ConfigError("--plot", f"a confusion matrix is written as .svg, not '{plot.suffix}'", "--plot FILE.svg")
    check_writable(plot, "--plot")


def _check_systems(systems: list[Path]) -> None:
    """Raise ConfigError for the first system that is not there."""
    missing = [str(path) for path in systems if not path.exists()]
    if missing:
        raise ConfigError(missing[0], "there is no such run or file", "a run folder, or a file of translations")


def _one_run(systems: list[Path], changes: list[str]) -> "Predictor":
    """Open the only run. Raises ConfigError where there are several, or a file."""
    from regard.predictor import load

    if len(systems) != 1 or not systems[0].is_dir():
        raise ConfigError("--diagnose", "is for one run", "regard evaluate RUN --diagnose")
    return load(systems[0], changes)
