"""The report of a comparison as one HTML file: works from disk, asks for nothing outside itself."""

import json
from collections.abc import Iterator
from typing import Any

from regard.explain.frame import framed, static
from regard.reports.compare.cells import Cell, Cells, of_texts
from regard.reports.compare.charts import Line, Point, chart, colour
from regard.reports.compare.document import by_length, gains_by_length
from regard.reports.compare.html import shown, table
from regard.reports.compare.lengths import Bucket
from regard.reports.compare.notes import colours, gain_note, length_note, notes
from regard.reports.compare.summary import Compared
from regard.reports.compare.table import NONE
from regard.reports.compare.tables import gain_table, length_table, main_table, of_figure, origin_table, run_table


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
    results = table(main_table(compared), systems=True)
    yield _card("Result", results + _listed([*notes(compared), colours(compared)]))
    yield f'<div class="charts">{_curves(compared)}{_lengths(compared)}</div>'
    if compared.buckets:
        lengths = table(length_table(compared), systems=True)
        yield _card(by_length(compared), lengths + _listed([length_note(compared)]))
    gains = gain_table(compared)
    if gains is not None:
        yield _card(gains_by_length(compared), table(gains) + _listed([gain_note(compared)]))
    origins = origin_table(compared)
    if origins is not None:
        yield _card("What was published", table(origins))
    yield _card("What differs", _differing(compared))
    yield _card("Every run", _runs(compared))
    if compared.failed:
        yield _card("Runs that failed", _listed([f"{name}: {why}" for name, why in compared.failed.items()]))
    yield _card("How it was made", _made(compared))


def _card(title: str, content: str) -> str:
    return f'<section class="card"><h2>{shown(title)}</h2>{content}</section>' if content else ""


def _listed(lines: list[str]) -> str:
    items = "".join(f"<li>{shown(line)}</li>" for line in lines)
    return f'<ul class="notes">{items}</ul>'


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
                Point(x, y := bucket.figures[place].mean, y, y, f"{bucket.words} words: {_figure(bucket, place)}")
                for x, bucket in enumerate(compared.buckets)
            ],
        )
        for place, row in enumerate(compared.rows)
    ]
    across = f"{compared.wording.length} ({compared.wording.examples})"
    drawn = chart(lines, across=across, up=compared.metrics[0], names=names)
    return _card("By length", drawn and drawn + _legend(compared))


def _figure(bucket: Bucket, place: int) -> str:
    return of_figure(bucket.figures[place]).text


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
    lines = [["setting", *compared.names], *([name, *values] for name, values in settings.items())]
    if len(settings) < len(compared.names):
        lines = [["system", *settings], *map(list, zip(compared.names, *settings.values(), strict=True))]
    head, *rows = lines
    return table(Cells(head, [[Cell(first), *of_texts(rest)] for first, *rest in rows], texts=len(head)))


def _setting(value: Any) -> str:
    """As a config says it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _runs(compared: Compared) -> str:
    found = run_table(compared)
    return f"<details><summary>{len(found.rows)} runs</summary>{table(found)}</details>"


def _made(compared: Compared) -> str:
    command = shown(compared.about.get("command", ""))
    return f'<p class="quiet">{shown(compared.made)}</p><pre><code>{command}</code></pre>'
