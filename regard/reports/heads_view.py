"""Heads of attention as tables, as JSON values, and as a plot through matplotlib (the extra `[plot]`)."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from regard.explain.heads import PATTERNS, pattern_of
from regard.predictor import Predictor
from regard.reports.heads import HeadReport, HeadsReport, measured_heads
from regard.reports.report import Report, figure_bytes, new_figure
from regard.reports.table import DASH, Cell, Table, number
from regard.runs.texts import Say

_SURE = 0.05  # significance level
MIXED = "mixed"  # pattern of a head that follows none clearly
ORDERS = ("importance", "random")


def heads_report(predictor: Predictor, lines: int, prune: bool, say: Say) -> Report:
    """Report pattern and importance of the heads of a run. Raises RegardError as `measured_heads` does."""
    found = measured_heads(predictor, lines, prune, say)
    names = ["head", *PATTERNS, "weight", "ablation", "gradient", "pattern"]
    tables = [Table(names, [_row(one) for one in found.heads], texts=1)]
    tables += [_pruning_table(found)] if found.pruning else []
    title = f"Heads of {predictor.run.path.name}, {found.examples} dev examples"
    return Report(tables, _as_values(found), _summary(found), partial(_figure, found, title))


def _pruning_table(found: HeadsReport) -> Table:
    """Return a row for each number of pruned heads; * marks a score that differs from the whole model's."""
    by, rows = {(one.order, one.heads): one for one in found.pruning}, list[list[Cell]]()
    for count in sorted({one.heads for one in found.pruning}):
        rows.append([Cell(str(count), count)])
        for one in (by.get((order, count), by["", 0]) for order in ORDERS):
            low, high = one.interval
            score = f"{number(one.score)} [{number(low)}, {number(high)}]{'*' if one.p_value < _SURE else ''}"
            rows[-1] += [Cell(score, one.score), Cell(f"{one.loss:.3f}", one.loss)]
    names = [f"{score}, {order}" for order in ("by importance", "at random") for score in (found.measure, "loss")]
    return Table(["heads out", *names], rows)


def _summary(found: HeadsReport) -> str:
    """Return in one line the number of important heads, and the number that can be pruned."""
    sure = sum(one.ablation > 0 and one.p_value < _SURE for one in found.heads)
    line = f"of {len(found.heads)} heads {sure} raise the loss when they alone are pruned (p < {_SURE})"
    if not found.pruning:
        return line
    free = [one.heads for one in found.pruning if one.order != "random" and one.p_value >= _SURE]
    return f"{line}; {max(free)} can be pruned together before {found.measure} changes"


def _as_values(found: HeadsReport) -> dict[str, Any]:
    """Return everything as JSON values."""
    return {
        "examples": found.examples,
        "loss": found.loss,
        "heads": [_values(one) for one in found.heads],
        "measure": found.measure,
        "pruning": [{**one._asdict(), "interval": list(one.interval)} for one in found.pruning],
    }


def _figure(found: HeadsReport, title: str, ending: str) -> bytes:
    """Plot a row for each attention, a column for each head, darker is more important; and the cost of pruning."""
    rows = len({(one.module) for one in found.heads})
    charts = 3 if found.pruning else 2
    figure = new_figure(5.2 * charts, max(2.5, 0.42 * rows + 1.6))
    first, second, *others = figure.subplots(1, charts, squeeze=False)[0]
    _draw_heads(first, found.heads, lambda one: one.ablation, "nats lost without it")
    _draw_heads(second, found.heads, lambda one: one.gradient, "|∂L / ∂gate|, nats")
    for axes in others:
        _draw_pruning(axes, found)
    figure.suptitle(title, fontsize=10, parse_math=False)
    return figure_bytes(figure, ending)


def _row(one: HeadReport) -> list[Cell]:
    """Return the table row of a head; * marks a significant ablation."""
    shares = [Cell(DASH if math.isnan(share) else f"{share:.0%}", share) for share in one.shares.tolist()]
    return [
        Cell(f"{one.attention} {one.layer}.{one.head}"),
        *shares,
        Cell(DASH if math.isnan(one.confidence) else f"{one.confidence:.2f}", one.confidence),
        Cell(f"{one.ablation:+.4f}{'*' if one.p_value < _SURE else ''}", one.ablation),
        Cell(f"{one.gradient:.4f}", one.gradient),
        Cell(_pattern(one)),
    ]


def _pattern(one: HeadReport) -> str:
    return DASH if np.isnan(one.shares).all() else pattern_of(one.shares) or MIXED


def _values(one: HeadReport) -> dict[str, Any]:
    shares = zip(PATTERNS, one.shares.tolist(), strict=True)
    return {
        **one._asdict(),
        "shares": {name: None if math.isnan(share) else share for name, share in shares},
        "confidence": None if math.isnan(one.confidence) else one.confidence,
        "interval": list(one.interval),
        "pattern": pattern_of(one.shares) or None,
    }


def _draw_heads(axes: Any, heads: Sequence[HeadReport], value: Callable[[HeadReport], float], label: str) -> None:
    """A heat map with the pattern of each head in its cell."""
    modules = list(dict.fromkeys(one.module for one in heads))
    cells = np.full((len(modules), max(one.head for one in heads)), np.nan)
    for one in heads:
        cells[modules.index(one.module), one.head - 1] = value(one)
    highest = max(float(np.nanmax(cells)), 1e-12)
    image = axes.imshow(cells, cmap="Purples", vmin=0.0, vmax=highest, aspect="auto")
    for one in heads:
        dark = value(one) > 0.6 * highest
        text = "" if _pattern(one) in (MIXED, DASH) else _pattern(one)
        place = one.head - 1, modules.index(one.module)
        axes.text(*place, text, ha="center", va="center", fontsize=6, color="white" if dark else "black")
    names = {one.module: f"{one.attention} {one.layer}" for one in heads}
    axes.set_yticks(range(len(modules)), [names[module] for module in modules], fontsize=7)
    axes.set_xticks(range(cells.shape[1]), [str(number + 1) for number in range(cells.shape[1])], fontsize=7)
    axes.set_xlabel("head")
    axes.set_title(label, fontsize=8)
    axes.figure.colorbar(image, ax=axes, shrink=0.8)


def _draw_pruning(axes: Any, found: HeadsReport) -> None:
    """Plot the score over the number of pruned heads."""
    for order, marker in zip(ORDERS, "os", strict=True):
        steps = [one for one in found.pruning if one.order in ("", order)]
        sides = [[one.score - one.interval.low for one in steps], [one.interval.high - one.score for one in steps]]
        counts, scores = [one.heads for one in steps], [one.score for one in steps]
        axes.errorbar(counts, scores, yerr=np.maximum(sides, 0), marker=marker, markersize=4, capsize=2, label=order)
    axes.set_xlabel("heads out")
    axes.set_title(found.measure, fontsize=8)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
