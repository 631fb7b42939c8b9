"""Results of a calibration as tables, as JSON values, and as a plot through matplotlib (the extra `[plot]`)."""

from functools import partial
from typing import Any

import numpy as np

from regard.registry import Choice
from regard.reports.confidence import ConfidenceReport, Things
from regard.reports.quality_estimation import QualityReport
from regard.reports.report import Report, figure_bytes, new_figure
from regard.reports.table import DASH, Cell, Table, number_cell

BINS = 10  # of the plot


def confidence_report(found: ConfidenceReport, title: str) -> Report:
    """Report how far probabilities are from what comes true, and what abstaining wins."""
    tables = [_errors_table(found), _abstention_table(found)]
    tables += [] if found.quality is None else [_quality_table(found.quality)]
    return Report(tables, _as_values(found), _summary(found), partial(_figure, found, title))


def _errors_table(found: ConfidenceReport) -> Table:
    """Return a row for each kind of things: how often they are right, and how far from it they were said to be."""
    rows = [
        [
            Cell(one.after.name),
            number_cell(len(one.after.given)),
            Cell(f"{one.after.correct.mean():.1%}"),
            Cell(f"{one.before.given.mean():.1%}"),
            Cell(f"{one.after.given.mean():.1%}"),
            Cell(f"{one.errors[0]:.1f}"),
            Cell(f"{one.errors[1]:.1f} [{one.interval.low:.1f}, {one.interval.high:.1f}]"),
        ]
        for one in found.levels
    ]
    names = ["what", "number", "right", "said before", "said after", "calibration error before", "after"]
    return Table(names, rows)


def _abstention_table(found: ConfidenceReport) -> Table:
    """Return what the answers are worth that are kept, and from which confidence on."""
    rows = [
        [
            Cell(f"{step.kept.lowest:.2f}"),
            Cell(f"{step.kept.fraction:.0%}"),
            Cell(f"{step.kept.value:.1f} [{step.interval.low:.1f}, {step.interval.high:.1f}]"),
        ]
        for step in found.steps
    ]
    return Table(["--abstain", "answers kept", found.measure], rows)


def _quality_table(found: QualityReport) -> Table:
    """Return the correlation of each estimate with the quality of translations."""
    rows = [
        [
            Cell(one.name),
            Cell(f"{one.pearson:.3f} [{one.interval.low:.3f}, {one.interval.high:.3f}]"),
            Cell(DASH if one.spearman is None else f"{one.spearman:.3f}"),
        ]
        for one in found.estimates
    ]
    return Table([f"estimate of {found.metric}", "Pearson", "Spearman"], rows)


def _summary(found: ConfidenceReport) -> str:
    """Return the calibration, its data, and the area under the risk-coverage curve."""
    rows = f"{found.calibration.name} ({_settings(found.calibration)})"
    if found.answers is not None:
        rows += f", whole answers ({_settings(found.answers)})"
    return (
        f"{rows}, fitted on {found.fitted:,} dev examples, evaluated on {found.evaluated:,} of the {found.part} set; "
        f"area under risk and coverage {found.risk:.1f}, {found.whole_risk:.1f} at random"
    )


def _as_values(found: ConfidenceReport) -> dict[str, Any]:
    """Return everything as JSON values."""
    return {
        "calibration": found.calibration._asdict(),
        "answers": None if found.answers is None else found.answers._asdict(),
        "fitted": found.fitted,
        "judged": found.evaluated,
        "part": found.part,
        "errors": [
            {
                "of": one.after.name,
                "count": len(one.after.given),
                "right": float(one.after.correct.mean()),
                "before": one.errors[0],
                "after": one.errors[1],
                "interval": [*one.interval],
            }
            for one in found.levels
        ],
        "measure": found.measure,
        "abstention": [{**step.kept._asdict(), "interval": [*step.interval]} for step in found.steps],
        "area_under_risk": found.risk,
        "at_random": found.whole_risk,
        **({} if found.quality is None else {"quality": found.quality.values()}),
    }


def _figure(found: ConfidenceReport, title: str, ending: str) -> bytes:
    """Plot confidence against accuracy, before and after, and the metric against the fraction of answers kept."""
    charts = len(found.levels) + 1
    figure = new_figure(4.2 * charts, 4.0)
    *first, last = figure.subplots(1, charts, squeeze=False)[0]
    for axes, level in zip(first, found.levels, strict=True):
        axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
        for things, label, marker in ((level.before, "before", "s"), (level.after, "after", "o")):
            axes.plot(*_binned(things), marker=marker, markersize=4, label=label)
        axes.set(xlabel="confidence", ylabel="right", xlim=(0, 1), ylim=(0, 1))
        axes.set_title(level.after.name, fontsize=8)
        axes.legend(fontsize=7)
    last.plot([one.fraction for one in found.curve], [one.value for one in found.curve], linewidth=1)
    last.set(xlabel="share of answers that are kept", ylabel=found.measure, xlim=(0, 1))
    last.grid(alpha=0.3)
    figure.suptitle(title, fontsize=10, parse_math=False)
    return figure_bytes(figure, ending)


def _binned(things: Things) -> tuple[list[float], list[float]]:
    """Return mean confidence and accuracy of each bin of equal width that is not empty."""
    places = np.minimum((things.given * BINS).astype(int), BINS - 1)
    shown = [places == place for place in sorted(set(places.tolist()))]
    return [float(things.given[one].mean()) for one in shown], [float(things.correct[one].mean()) for one in shown]


def _settings(one: Choice) -> str:
    settings = {name: [value] if isinstance(value, float) else value for name, value in one.settings.items()}
    return ", ".join(" ".join([name, *(f"{each:.3g}" for each in values)]) for name, values in settings.items())
