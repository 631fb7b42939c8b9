"""regard heads"""

from typing import Annotated

import typer

from regard.cli.emit import check_plot_file, emit, say
from regard.cli.options import Changes, Json, Plot, RunArgument

HeadsLines = Annotated[int, typer.Option("--lines", min=2, help="Dev examples to measure with.")]
Prune = Annotated[bool, typer.Option("--prune", help="Take more and more heads out: what does it cost?")]


def heads_command(
    run: RunArgument,
    changes: Changes = None,
    *,
    lines: HeadsLines = 200,
    prune: Prune = False,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Tell what each head of attention looks at, and what it is worth: what is lost without it.

    regard heads runs/en-de

    --prune answers without the heads that matter least, a tenth to nine tenths of them, and without as many at random.

    regard heads runs/en-de --prune --plot heads.svg
    """
    from regard.predictor import load
    from regard.reports import heads_report

    check_plot_file(plot)
    emit(heads_report(load(run, changes), lines, prune, say), as_json=as_json, plot=plot)
