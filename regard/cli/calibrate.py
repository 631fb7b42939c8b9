"""regard calibrate"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.files import check_writable
from regard.cli.group import tell

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained model.")]
Changes = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Changes; with any nothing is kept.")]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="temperature, or platt: also how often each choice is right."),
]
Lines = Annotated[int, typer.Option("--lines", min=2, metavar="N", help="Examples of the dev and test parts, at most.")]
Quality = Annotated[
    bool, typer.Option("--quality", help="Also which numbers of a translator tell how good its sentences are.")
]
Passes = Annotated[int, typer.Option("--passes", min=0, max=1000, metavar="N", help="Passes with dropout for that.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="A picture: .svg, .png or .pdf")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")]


def calibrate_command(
    run: Run,
    changes: Changes = None,
    *,
    by: By = None,
    lines: Lines = 1000,
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
    from regard.reports.bench.report import check_plot
    from regard.reports.confidence import calibrate_run
    from regard.reports.confidence_view import abstention_table, as_values, errors_table, quality_table, summary
    from regard.reports.confidence_view import plot as drawn

    if plot is not None:
        check_plot(plot)
        check_writable(plot, "--plot")
    asked = passes if quality else None
    say = partial(print, file=sys.stderr)
    found = calibrate_run(run, changes or [], by=by, lines=lines, passes=asked, say=say)
    if as_json:
        print(json.dumps(as_values(found), ensure_ascii=False))
    else:
        tables = [errors_table(found), abstention_table(found)]
        tables += [] if found.quality is None else [quality_table(found.quality)]
        print("\n".join(one.terminal() if sys.stdout.isatty() else one.markdown() for one in tables))
        print(summary(found))
    if plot is not None:
        plot.write_bytes(drawn(found, title=f"Confidence of {run.name}", kind=plot.suffix))
        print(f"wrote {plot}", file=sys.stderr)
    _tell_kept(found.path, found.unkept)


def _tell_kept(path: Path | None, unkept: str) -> None:
    if path is None:
        tell(f"nothing is kept: {unkept}", "warning")
    else:
        print(f"wrote {path}: predict and serve use it", file=sys.stderr)
