"""regard calibrate"""

from typing import Annotated

import typer

from regard.cli.emit import check_plot_file, emit, say
from regard.cli.group import warn
from regard.cli.options import Json, Plot, RunArgument

CalibrateChanges = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Changes; with any nothing is kept.")
]
CalibrationName = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="temperature, or platt: also how often each choice is right."),
]
CalibrateLines = Annotated[
    int, typer.Option("--lines", min=2, metavar="N", help="Examples of the dev and test parts, at most.")
]
Quality = Annotated[
    bool, typer.Option("--quality", help="Also which numbers of a translator tell how good its sentences are.")
]
Passes = Annotated[int, typer.Option("--passes", min=0, max=1000, metavar="N", help="Passes with dropout for that.")]


def calibrate_command(
    run: RunArgument,
    changes: CalibrateChanges = None,
    *,
    by: CalibrationName = None,
    lines: CalibrateLines = 1000,
    quality: Quality = False,
    passes: Passes = 10,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Make a model's confidence mean something: of answers with 0.8, eight of ten are right.

    Fitted on the dev part, judged on the test part, kept in the run's folder: from then on predict and serve tell
    calibrated probabilities. Right is a label or tag that equals the given one, and a word of a translation that the
    given one has in its place. A second table tells what is won when the least sure answers are withheld. Where
    probabilities stay more than 10 points off, or of fewer than 50 examples, nothing is kept.

    regard calibrate runs/en-de

    regard predict runs/en-de --abstain 0.7

    --quality estimates the chrF of each sentence without its reference: by probabilities, attention, lengths, and by
    how much the score changes with dropout. Fitted on the dev part, correlated on the test part.

    regard calibrate runs/en-de --quality --passes 30
    """
    from regard.reports import calibrate_run, confidence_report, uncalibrated

    check_plot_file(plot)
    found = calibrate_run(
        uncalibrated(run, changes or []), by=by, lines=lines, passes=passes if quality else None, say=say
    )
    emit(confidence_report(found, f"Confidence of {run.name}"), as_json=as_json, plot=plot)
    if found.path is None:
        warn(f"nothing is kept: {found.unkept}")
    else:
        say(f"wrote {found.path}: predict and serve use it")
