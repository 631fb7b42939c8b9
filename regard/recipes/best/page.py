"""The page of `regard best`: what each step gave, what was left out and why, what more time or pairs would give."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from shlex import quote

from regard.explain.frame import bundle, framed, static
from regard.explain.tokens import visible_line
from regard.recipes.best.step import NO_TIME, SURE_GAIN, StepResult, step_folder_of
from regard.recipes.best.steps import BEST_STEPS
from regard.reports.report import Report
from regard.reports.table import DASH, Cell, Table
from regard.runs import RunFolder

_COLUMNS = ("step", "dev BLEU", "difference", "p", "minutes", "against", "outcome")
_LATE = (NO_TIME, "not one line was translated in its time")  # reasons that more minutes change
_STEEP = 0.3  # BLEU of the last third of a training, from which more time is worth a line


def best_report(
    folder: Path, results: Sequence[StepResult], left_out: Mapping[str, str], forecast: Sequence[str] = ()
) -> Report:
    """Report the steps of a search, `left_out` with their reasons, and what would give more; `forecast` are lines."""
    by_name = {one.step: one for one in results}
    rows = [_row(by_name[name]) if name in by_name else _row_left_out(name, left_out[name]) for name in BEST_STEPS]
    best = next((one for one in reversed(results) if one.leads), None)
    values = {"best": None if best is None else best._asdict(), "steps": [one._asdict() for one in results]}
    heading = "" if best is None else f"best: {best.step}, {best.bleu:.2f} BLEU on the dev text"
    made = [f"{one.step}: {BEST_STEPS[one.step].about}" + (f" ({one.note})" if one.note else "") for one in results]
    use = [] if best is None else [f"translate with: regard predict {quote(str(folder))} < FILE"]
    lines = [*use, *made, *_speed(by_name, best, folder), *_more(folder, results, left_out), *forecast]
    return Report(
        [Table(_COLUMNS, rows, texts=2)],
        {**values, "left_out": dict(left_out), "notes": lines},
        "\n".join(f"- {line}" for line in lines),
        heading=heading,
    )


def best_page(report: Report, title: str) -> str:
    """Return the report as one HTML file, in English and Chinese, that asks for nothing outside itself."""
    (table,) = report.rows
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(visible_line(cell.text))}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    notes = "".join(f"<li>{escape(visible_line(line))}</li>" for line in report.values["notes"])
    whole = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    card = f'<section class="card"><h2>{escape(visible_line(report.heading))}</h2>{whole}<ul>{notes}</ul></section>'
    style = ".report { display: block; } td { text-align: start; } ul { padding: 12px 0 0 18px; }"
    return framed(
        f'<main class="report">{card}</main>',
        title=title,
        script=f"{bundle('phrases.js')}\n{static('best.js', 'regard.recipes.best')}",
        style=style,
        tools='<button type="button" id="language"></button><button type="button" id="theme"></button>',
    )


def without_networks(why: str) -> str:
    """Return the decision against networks, as a line of the log and the page."""
    return f"no network is trained, phrases have its time: {why}"


def step_outcome(one: StepResult) -> str:
    """Return whether a step was the best when it was made, was kept or was dropped."""
    if one.leads or not one.kept:
        return "the best so far" if one.leads else "dropped: no sure gain"
    gained = one.difference > 0 and one.p_value < SURE_GAIN
    return "kept" if gained else "kept, as the first of its kind"


def _row(one: StepResult) -> list[Cell]:
    compared = bool(one.rival)
    return [
        Cell(one.step),
        Cell(f"{one.bleu:.2f}", one.bleu),
        Cell(f"{one.difference:+.2f}" if compared else DASH, one.difference),
        Cell(f"{one.p_value:.3f}" if compared else DASH, one.p_value),
        Cell(f"{one.seconds / 60:.1f}", one.seconds),
        Cell(one.rival or DASH),
        Cell(step_outcome(one)),
    ]


def _row_left_out(name: str, why: str) -> list[Cell]:
    return [Cell(name), *[Cell(DASH)] * 5, Cell(why)]


def _speed(by_name: Mapping[str, StepResult], best: StepResult | None, folder: Path) -> Iterator[str]:
    """Return the loss of the one fast network to the best, where that is a combination."""
    distilled = by_name.get("distilled")
    if distilled is not None and best is not None and not distilled.leads:
        lost = distilled.bleu - best.bleu
        yield f"one fast network for many requests: {step_folder_of(folder, 'distilled')} ({lost:+.2f} BLEU)"


def _more(folder: Path, results: Sequence[StepResult], left_out: Mapping[str, str]) -> Iterator[str]:
    """Return the expected gain of more time, text or pairs, as far as it was measured."""
    for one in results:
        gain = last_third(step_folder_of(folder, one.step)) if one.family == "network" else 0.0
        if gain >= _STEEP:
            yield f"more time: {one.step} gained {gain:.1f} dev BLEU in the last third of its training"
    if left_out.get("network", "").startswith(f"{NO_TIME}: "):
        yield without_networks(left_out["network"])
    late = [name for name, why in left_out.items() if why.startswith(_LATE)]
    if late:
        yield f"more time: {', '.join(late)} had none (the same command with a larger --minutes goes on)"
    for side in ("source", "target"):
        if any(f"--text-{side}" in why for why in left_out.values()):
            yield f"more text: steps that read text of the {side} language had none (--text-{side} FILE)"


def last_third(run: Path) -> float:
    """Return the BLEU that the best figure of a training's validations gained in their last third."""
    figures = [float(one["bleu"]) for _, one in sorted(RunFolder(run).scores().items()) if "bleu" in one]
    before = figures[: len(figures) * 2 // 3]
    return max(figures) - max(before) if before else 0.0
