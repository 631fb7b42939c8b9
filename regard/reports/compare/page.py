"""The report of a comparison as one HTML file: works from disk, asks for nothing outside itself."""

import json
from collections.abc import Iterator
from typing import Any

from regard.explain.frame import framed, static
from regard.reports.compare.charts import Line, Point, chart, colour
from regard.reports.compare.html import Cell, shown, table
from regard.reports.compare.measure import Result
from regard.reports.compare.notes import notes
from regard.reports.compare.row import Row, mean_and_spread
from regard.reports.compare.statistics import Figure
from regard.reports.compare.summary import Compared
from regard.reports.compare.table import NONE, minutes, number
from regard.reports.compare.tables import SPEEDS, TIMES, origin_table

SURE = 0.05  # p-values below this are coloured


def page(compared: Compared) -> str:
    """Every text in it is escaped; only the script and the style with the page's nonce may run."""
    package = "regard.reports.compare"
    return framed(
        '<main class="report">\n' + "\n".join(_sections(compared)) + "\n</main>",
        title=compared.title,
        script=static("compare.js", package),
        style=static("compare.css", package),
        tools='<button type="button" id="theme" hidden>Theme: system</button>',
    )


def _sections(compared: Compared) -> Iterator[str]:
    yield _card("Result", _main_table(compared) + _notes(compared))
    yield f'<div class="charts">{_curves(compared)}{_lengths(compared)}</div>'
    yield _card("What was published", _origins(compared))
    yield _card("What differs", _differing(compared))
    yield _card("Every run", _runs(compared))
    if compared.failed:
        lines = "".join(f"<li>{shown(name)}: {shown(why)}</li>" for name, why in compared.failed.items())
        yield _card("Runs that failed", f'<ul class="notes">{lines}</ul>')
    yield _card("How it was made", _made(compared))


def _card(title: str, content: str) -> str:
    return f'<section class="card"><h2>{shown(title)}</h2>{content}</section>' if content else ""


def _main_table(compared: Compared) -> str:
    aligned = any(row.error_rates for row in compared.rows)
    first, *others = compared.metrics
    columns = ["System", "Runs", first, "95 %", "p", *others, *(["AER %"] if aligned else [])]
    columns += ["Parameters", *map(str.capitalize, (*SPEEDS, *TIMES))]
    return table(columns, [_cells(compared, row, aligned) for row in compared.rows], systems=True)


def _cells(compared: Compared, row: Row, aligned: bool) -> list[Cell]:
    first, *others = [
        _of_metric(figure, better) for figure, better in zip(row.figures, compared.higher_is_better, strict=True)
    ]
    (low, high), found = row.figures[0].interval, row.figures[0].difference
    p = Cell(NONE) if found is None else Cell(f"{found.p_value:.3g}", found.p_value, first.classes, first.tip)
    cells = [Cell(row.name), Cell(str(len(row.results)), len(row.results))]
    cells += [first, Cell(f"{low:.2f} to {high:.2f}", low), p, *others]
    if aligned:
        rates = row.error_rates
        cells.append(Cell(mean_and_spread(rates, ".1f"), sum(rates) / len(rates) if rates else None))
    speeds = (row.parameters, row.tokens_per_second, row.words_per_second, row.sentences_per_second)
    times = (row.seconds, row.core_seconds)
    return [
        *cells, *(Cell(number(value), value) for value in speeds), *(Cell(minutes(value), value) for value in times),
    ]  # fmt: skip


def _of_metric(figure: Figure, higher_is_better: bool | None) -> Cell:
    """Coloured where it is surely better or worse than the baseline."""
    told, found = mean_and_spread(figure.values), figure.difference
    if found is None:
        return Cell(told, figure.mean)
    low, high = found.interval
    tip = f"difference {found.value:+.2f} (95 %: {low:+.2f} to {high:+.2f}), p = {found.p_value:.3g}"
    if found.p_value >= SURE or higher_is_better is None:
        return Cell(told, figure.mean, "", tip)
    return Cell(told, figure.mean, "sure" if (found.value > 0) == higher_is_better else "poor", tip)


def _notes(compared: Compared) -> str:
    coloured = f"Coloured: surely better or worse (p < {SURE:g}); pointed at: the difference."
    listed = "".join(f"<li>{shown(note)}</li>" for note in [*notes(compared), coloured])
    return f'<ul class="notes">{listed}</ul>'


def _curves(compared: Compared) -> str:
    lines = [
        Line(
            row.name,
            place,
            [Point(update, y, low, high, f"update {update:,}: {y:.2f}") for update, y, low, high in row.curve()],
        )
        for place, row in enumerate(compared.rows)
    ]
    drawn = chart(lines, across="updates", up=f"{compared.steering} of the dev part")
    return _card("Learning", drawn and drawn + _legend(compared))


def _lengths(compared: Compared) -> str:
    names = [f"{bucket.words} ({bucket.sentences:,})" for bucket in compared.buckets]
    lines = [
        Line(
            row.name,
            place,
            [
                Point(x, y := bucket.values[place], y, y, f"{bucket.words} words: {y:.2f}")
                for x, bucket in enumerate(compared.buckets)
            ],
        )
        for place, row in enumerate(compared.rows)
    ]
    drawn = chart(lines, across="words of the source (sentences)", up=compared.metrics[0], names=names)
    return _card("By length", drawn and drawn + _legend(compared))


def _legend(compared: Compared) -> str:
    items = "".join(
        f'<li class="{colour(place)}" data-system="{place}"><span>{shown(name)}</span></li>'
        for place, name in enumerate(compared.names)
    )
    return f'<ul class="lines">{items}</ul>'


def _differing(compared: Compared) -> str:
    """The longer side goes down."""
    settings = {
        name: [NONE if value is None else _setting(value) for value in row] for name, row in compared.differing.items()
    }
    if not settings:
        return ""
    lines = [["Setting", *compared.names], *([name, *values] for name, values in settings.items())]
    if len(settings) < len(compared.names):
        lines = [["System", *settings], *map(list, zip(compared.names, *settings.values(), strict=True))]
    head, *rows = lines
    cells = [[Cell(first), *(Cell(text, None, "text") for text in rest)] for first, *rest in rows]
    return table(head, cells, texts=True)


def _origins(compared: Compared) -> str:
    found = origin_table(compared)
    if found is None:
        return ""
    return table(
        list(found.columns),
        [[Cell(row[0]), *(Cell(text, None, "text") for text in row[1:])] for row in found.rows],
        texts=True,
    )


def _setting(value: Any) -> str:
    """As a config says it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _runs(compared: Compared) -> str:
    columns = ["Run", *(f"{name} [95 %]" for name in compared.metrics), "AER %", "Updates", "Train tokens/s"]
    rows = [_run(row, place, run) for row in compared.rows for place, run in enumerate(row.results)]
    told = table([*columns, "Decode sentences/s", *map(str.capitalize, TIMES)], rows)
    return f"<details><summary>{len(rows)} runs</summary>{told}</details>"


def _run(row: Row, place: int, run: Result) -> list[Cell]:
    scores = []
    for figure in row.figures:
        (low, high), value = figure.intervals[place], figure.values[place]
        scores.append(Cell(f"{value:.2f} [{low:.2f}, {high:.2f}]", value))
    rate, speeds = run.error_rate, (run.updates, run.tokens_per_second, run.sentences_per_second)
    aligned = Cell(NONE if rate is None else f"{rate:.1f}", rate)
    rest = [Cell(number(value), value) for value in speeds]
    times = [Cell(minutes(value), value) for value in (run.seconds, run.core_seconds)]
    return [Cell(run.name), *scores, aligned, *rest, *times]


def _made(compared: Compared) -> str:
    command = shown(compared.about.get("command", ""))
    return f'<p class="quiet">{shown(compared.made)}</p><pre><code>{command}</code></pre>'
