"""regard heads"""

from typing import Annotated

import typer

from regard.cli.emit import check_plot_file, emit, say
from regard.cli.options import Changes, DevLines, Json, Plot, RunArgument

Prune = Annotated[bool, typer.Option("--prune", help="Measure the cost of pruning more and more heads.")]


def heads_command(
    run: RunArgument,
    changes: Changes = None,
    *,
    lines: DevLines = 200,
    prune: Prune = False,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Measure what each attention head attends to, and its worth.

    The worth of a head is the loss in quality without it. --prune removes the least important heads, a tenth to nine
    tenths of them, and as many at random.

    regard heads runs/en-de
    regard heads runs/en-de --prune --plot heads.svg
    """
    from regard.predictor import load
    from regard.reports.heads import heads_report

    check_plot_file(plot)
    emit(heads_report(load(run, changes), lines, prune, say), as_json=as_json, plot=plot)
