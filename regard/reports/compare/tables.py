"""What a comparison found as tables, the same for Markdown, a terminal and a page."""

from collections.abc import Sequence

from regard.evaluation import Interval
from regard.reports.compare.cells import Cell, Cells, of_minutes, of_number, of_texts
from regard.reports.compare.measure import Result
from regard.reports.compare.row import Row, mean_and_spread
from regard.reports.compare.statistics import Difference, Figure
from regard.reports.compare.summary import Compared
from regard.reports.compare.table import NONE

SURE = 0.05  # p-values below this are coloured


def main_table(compared: Compared) -> Cells:
    """One row a contender, the first metric with its interval and p-value."""
    first, *others = compared.metrics
    aligned = any(row.error_rates for row in compared.rows)
    columns = ["system", "runs", first, "95 %", "p", *others, *(["AER %"] if aligned else [])]
    columns += ["parameters", *_speed_names(compared, words=True)]
    return Cells(columns, [_main_cells(compared, row, aligned) for row in compared.rows])


def length_table(compared: Compared) -> Cells:
    """The first metric by length, with its interval; in brackets how many sentences there are."""
    columns = ["words", *(f"{bucket.words} ({bucket.sentences:,})" for bucket in compared.buckets)]
    rows = [
        [Cell(name), *(of_figure(bucket.figures[place]) for bucket in compared.buckets)]
        for place, name in enumerate(compared.names)
    ]
    return Cells(columns, rows)


def gain_table(compared: Compared) -> Cells | None:
    """The difference to the baseline by length, with its interval; None where there is nothing to compare."""
    places = [place for place, name in enumerate(compared.names) if name != compared.baseline]
    halves = compared.halves
    if halves is None or not places:
        return None
    columns = ["words", *(f"{bucket.words} ({bucket.sentences:,})" for bucket in compared.buckets)]
    columns.append(f"over {halves.words} ({halves.longer:,}) less the rest ({halves.shorter:,})")
    rows = [
        [
            Cell(compared.names[place]),
            *(of_difference(bucket.figures[place].difference) for bucket in compared.buckets),
            of_difference(halves.gains[place], p=True),
        ]
        for place in places
    ]
    return Cells(columns, rows)


def origin_table(compared: Compared) -> Cells | None:
    """The first metric beside what was published, as the configs tell it; None where none of them does."""
    if not any(any(row.origin) for row in compared.rows):
        return None
    rows = [
        [
            Cell(row.name),
            Cell(mean_and_spread(row.figures[0].values), row.figures[0].mean),
            *of_texts([row.origin.published, row.origin.paper]),
        ]
        for row in compared.rows
    ]
    return Cells(["system", compared.metrics[0], "published", "paper"], rows, texts=2)


def run_table(compared: Compared) -> Cells:
    """One row a run."""
    aligned = any(row.error_rates for row in compared.rows)
    columns = ["run", *(f"{name} (95 %)" for name in compared.metrics), *(["AER %"] if aligned else []), "updates"]
    rows = [
        _run_cells(compared, row, place, run, aligned) for row in compared.rows for place, run in enumerate(row.results)
    ]
    return Cells([*columns, *_speed_names(compared, words=False)], rows)


def of_figure(figure: Figure) -> Cell:
    """38.37 (37.12 to 39.60): the mean of the runs."""
    return _between(figure.mean, figure.interval)


def of_difference(found: Difference | None, *, p: bool = False) -> Cell:
    """+1.20 (+0.31 to +2.05), or with p = 0.012 behind it."""
    if found is None:
        return Cell(NONE)
    cell, told = _between(found.value, found.interval, "+"), f"p = {found.p_value:.3g}"
    return cell._replace(text=f"{cell.text}, {told}" if p else cell.text, tip=told)


def _between(value: float, interval: Interval, sign: str = "") -> Cell:
    return Cell(f"{value:{sign}.2f} ({interval.low:{sign}.2f} to {interval.high:{sign}.2f})", value)


def _speed_names(compared: Compared, *, words: bool) -> list[str]:
    """Of the columns that `_speeds` fills."""
    unit, time = ("core s", "core minutes") if compared.by_core else ("s", "minutes")
    trained = ["train tokens", "train words"] if words else ["train tokens"]
    return [*(f"{what}/{unit}" for what in (*trained, compared.wording.speed)), time]


def _speeds(compared: Compared, one: Row | Result, words: Sequence[float | None] = ()) -> list[Cell]:
    if compared.by_core:
        trained, finished, time = one.tokens_per_core_second, one.sentences_per_core_second, one.core_seconds
    else:
        trained, finished, time = one.tokens_per_second, one.sentences_per_second, one.seconds
    return [*map(of_number, (trained, *words, finished)), of_minutes(time)]


def _main_cells(compared: Compared, row: Row, aligned: bool) -> list[Cell]:
    scores = [_of_metric(figure, better) for figure, better in zip(row.figures, compared.higher_is_better, strict=True)]
    (low, high), found = row.figures[0].interval, row.figures[0].difference
    p = Cell(NONE) if found is None else scores[0]._replace(text=f"{found.p_value:.3g}", value=found.p_value)
    interval, rates = Cell(f"{low:.2f} to {high:.2f}", low), row.error_rates
    errors = [Cell(mean_and_spread(rates, ".1f"), sum(rates) / len(rates) if rates else None)] if aligned else []
    words = row.words_per_core_second if compared.by_core else row.words_per_second
    return [
        Cell(row.name),
        of_number(len(row.results)),
        scores[0],
        interval,
        p,
        *scores[1:],
        *errors,
        of_number(row.parameters),
        *_speeds(compared, row, [words]),
    ]


def _run_cells(compared: Compared, row: Row, place: int, run: Result, aligned: bool) -> list[Cell]:
    scores = [_between(figure.values[place], figure.intervals[place]) for figure in row.figures]
    rate = run.error_rate
    errors = [Cell(NONE if rate is None else f"{rate:.1f}", rate)] if aligned else []
    return [Cell(run.name), *scores, *errors, of_number(run.updates), *_speeds(compared, run)]


def _of_metric(figure: Figure, higher_is_better: bool | None) -> Cell:
    """Coloured where chance hardly makes it better or worse than the baseline."""
    text, found = mean_and_spread(figure.values), figure.difference
    if found is None:
        return Cell(text, figure.mean)
    low, high = found.interval
    tip = f"difference {found.value:+.2f} (95 %: {low:+.2f} to {high:+.2f}), p = {found.p_value:.3g}"
    if found.p_value >= SURE or higher_is_better is None:
        return Cell(text, figure.mean, "", tip)
    return Cell(text, figure.mean, "sure" if (found.value > 0) == higher_is_better else "poor", tip)
