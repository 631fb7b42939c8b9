"""regard calibrate"""

from typing import Annotated

import typer

from regard.cli.emit import check_plot_file, emit, say
from regard.cli.group import warn
from regard.cli.options import DevLines, Json, Plot, RunArgument, integer_option, name_option

CalibrateChanges = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE...]", help="Setting overrides; not saved with any but data.*."),
]
CalibrationName = Annotated[str | None, name_option("--method", help="temperature, or platt (scale and bias).")]
Quality = Annotated[bool, typer.Option("--quality", help="Fit a quality estimate of translations, too.")]
Passes = Annotated[int, integer_option("--passes", min=0, max=1000, help="Monte Carlo dropout passes of --quality.")]


def calibrate_command(
    run: RunArgument,
    changes: CalibrateChanges = None,
    *,
    method: CalibrationName = None,
    lines: DevLines = 1000,
    quality: Quality = False,
    passes: Passes = 10,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Calibrate a run's confidence on the dev set.

    Of answers with calibrated confidence 0.8, eight in ten are correct. The calibration is fitted on the dev set,
    evaluated on the test set and saved in the run; predict and serve use it. A label or tag is correct if it equals
    the reference, a word of a translation if the reference has it in its place. A second table reports the gain of
    withholding the least confident answers. Nothing is saved if the calibration error stays above 10 points, or with
    fewer than 50 examples.

    --quality estimates the chrF of each sentence without its reference: from probabilities, attention, lengths and
    Monte Carlo dropout. It is fitted on the dev set and correlated on the test set.

    regard calibrate runs/en-de
    regard calibrate runs/imported data.dev.source=dev.en data.dev.target=dev.de
    regard predict runs/en-de --abstain 0.7
    regard calibrate runs/en-de --quality --passes 30
    """
    from regard.reports.confidence import calibrate_run, uncalibrated
    from regard.reports.confidence_view import confidence_report

    check_plot_file(plot)
    found = calibrate_run(
        uncalibrated(run, changes or []), by=method, lines=lines, passes=passes if quality else None, say=say
    )
    emit(confidence_report(found, f"Confidence of {run.name}"), as_json=as_json, plot=plot)
    if found.path is None:
        warn(f"the calibration is not saved: {found.unkept}")
    else:
        say(f"wrote {found.path}: predict and serve use it")
