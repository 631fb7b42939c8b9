"""regard evaluate"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.files import check_writable, is_change
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.reports.evaluation_report import Evaluation

Words = Annotated[
    list[str],
    typer.Argument(metavar="SYSTEM... [KEY=VALUE]", help="Runs or files of translations; changes to the runs."),
]
Source = Annotated[Path | None, typer.Option(metavar="FILE", help="Source text. (default: the run's test part)")]
Target = Annotated[Path | None, typer.Option(metavar="FILE", help="Reference translation, line by line.")]
Text = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Text for language models. (default: the run's test part)")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Keep the translations of one run.")
]
ByLength = Annotated[bool, typer.Option("--by-length", help="The first metric by length of the source, too.")]
Matrix = Annotated[
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
Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]


def evaluate_command(
    words: Words,
    *,
    source: Source = None,
    target: Target = None,
    text: Text = None,
    output_file: Output = None,
    by_length: ByLength = False,
    confusion: Matrix = None,
    perturb: Perturb = None,
    diagnose: Diagnose = False,
    as_json: Json = False,
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
    from regard.reports import evaluate
    from regard.text.perturbations import perturbation_of

    systems = [Path(word) for word in words if not is_change(word)]
    changes = [word for word in words if is_change(word)]
    missing = [str(path) for path in systems if not path.exists()]
    if missing:
        raise ConfigError("SYSTEM", f"there is no '{missing[0]}'", "the folder of a run, or a file of translations")
    if diagnose:
        _diagnose(systems, changes, source, as_json)
        return
    files = {"source": source, "target": target, "text": text}
    given = {column: path for column, path in files.items() if path is not None}
    if confusion is not None:
        check_writable(confusion, "--confusion")
    noise = [perturbation_of(one) for one in perturb or ()]
    report = evaluate(systems, given, changes=changes, output=output_file, by_length=by_length, perturbations=noise)
    if confusion is not None:
        _draw(report, confusion)
    print(json.dumps(report.values(), indent=2, ensure_ascii=False) if as_json else report)


def _diagnose(systems: list[Path], changes: list[str], source: Path | None, as_json: bool) -> None:
    """Print what may be wrong with the translations of a run, by what `regard adequacy` counted."""
    from regard.reports.diagnosis import diagnose_run

    if len(systems) != 1 or not systems[0].is_dir():
        raise ConfigError("--diagnose", "is for one run", "regard evaluate RUN --diagnose")
    found = diagnose_run(systems[0], changes, source, lambda line: print(line, file=sys.stderr))
    print(json.dumps(found.values(), ensure_ascii=False, indent=2) if as_json else found)


def _draw(report: "Evaluation", file: Path) -> None:
    """Write the picture of the first system's confusion matrix. Raises ConfigError where its answers are no labels."""
    from regard.reports.confusion import picture_of

    system, *_ = report.systems
    if system.confusion is None:
        raise ConfigError("--confusion", f"the answers of '{system.name}' are no labels", "leave it out")
    file.write_text(picture_of(system.confusion, f"Answers of {system.name}"), encoding="utf-8")
