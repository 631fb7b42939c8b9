"""regard evaluate"""

import json
from pathlib import Path
from typing import Annotated

import typer

Systems = Annotated[list[Path], typer.Argument(metavar="SYSTEM [SYSTEM]...", help="Runs, or files of translations.")]
Source = Annotated[Path | None, typer.Option(metavar="FILE", help="Source text. (default: the run's test part)")]
Target = Annotated[Path | None, typer.Option(metavar="FILE", help="Reference translation, line by line.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Keep the translations of one run.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]


def evaluate_command(
    systems: Systems,
    *,
    source: Source = None,
    target: Target = None,
    output_file: Output = None,
    as_json: Json = False,
) -> None:
    """Score translations (BLEU, chrF, ... with signatures); several are compared with the first, with p-values.

    regard evaluate runs/en-de --source test.en --target test.de

    regard evaluate runs/a runs/b
    """
    from regard.reports import evaluate

    report = evaluate(systems, source, target, output=output_file)
    print(json.dumps(report.values(), indent=2, ensure_ascii=False) if as_json else report)
