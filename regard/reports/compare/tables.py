"""Results of a comparison as tables with notes; the same for Markdown, a terminal and a page."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from regard.evaluation import Interval
from regard.explain.tokens import visible_line
from regard.reports.compare.measure import Result
from regard.reports.compare.statistics import Difference, Figure, mean_and_spread
from regard.reports.compare.summary import Compared, SystemRow, finite
from regard.reports.forecast.forecast import NEAR_ZERO
from regard.reports.report import Report
from regard.reports.table import DASH, Cell, Table, escaped, number_cell
from regard.reports.timing import ClockRate

SIGNIFICANT = 0.05  # p-values below this are coloured
_BAG_TITLE = "A bag of words on the same texts"
_BAG_NOTE = (
    "Logistic regression on the log-count ratios of naive Bayes, of words and pairs of words (NBSVM); difference: the "
    "system less the bag of words, with its 95 % interval (paired bootstrap)."
)


class Section(NamedTuple):
    """A table with its title and notes."""

    title: str
    table: Table
    notes: Sequence[str] = ()
    systems: bool = False  # a row each, in their order


def sections(compared: Compared) -> Iterator[Section]:
    """Yield the sections of a report that have content."""
    metric, wording = compared.metrics[0], compared.wording
    yield Section("Result", main_table(compared), notes(compared), systems=True)
    if compared.buckets:
        title = f"{metric} by {wording.length} ({wording.examples})"
        note = f"In parentheses: the 95 % interval, over {_resampled(compared)}.{_without_seeds(compared)}"
        yield Section(title, length_table(compared), [note], systems=True)
    if gains := gain_table(compared):
        title = f"{metric}: difference to {compared.baseline} by {wording.length}"
        yield Section(title, gains, [_gain_note(compared)])
    if compared.bag:
        yield Section(_BAG_TITLE, bag_table(compared), [_BAG_NOTE])
    if published := publication_table(compared):
        yield Section("What was published", published)


def comparison_report(compared: Compared, width: int | None) -> Report:
    """Report a comparison: as Markdown, or its first tables for a terminal of this width."""
    text = comparison_markdown(compared) if width is None else terminal(compared, width)
    return Report([], finite(compared.values()), text.removesuffix("\n"))


def comparison_markdown(compared: Compared) -> str:
    """Return the report as Markdown; names and values are escaped."""
    blocks = [f"# {escaped(compared.title)}\n"]
    for place, one in enumerate(sections(compared)):
        blocks += [f"## {escaped(one.title)}\n"] if place else []
        blocks += [one.table.markdown(), *([_listed(one.notes)] if one.notes else [])]
    if compared.failed:
        blocks += ["## Runs that failed\n", _listed([f"{name}: {why}" for name, why in compared.failed.items()])]
    blocks += ["## How it was made\n", f"{escaped(compared.made)}\n"]
    if compared.about.get("command"):
        blocks.append(f"    {visible_line(str(compared.about['command']))}\n")
    return "\n".join(blocks)


def terminal(compared: Compared, width: int) -> str:
    """The table of results, a note on systems near zero, and the table by length where the terminal is wide enough."""
    results, *others = sections(compared)
    text = "".join([results.table.terminal(), *(f"{line}\n" for line in _near_zero_note(compared))])
    if compared.buckets:
        lengths = others[0].table.terminal()
        if max(map(len, lengths.splitlines())) <= width:
            text = f"{text}\n{others[0].title}\n{lengths}"
    return f"{text}\n{_BAG_TITLE}\n{bag_table(compared).terminal()}" if compared.bag else text


def _listed(lines: Sequence[str]) -> str:
    return "".join(f"- {escaped(line)}\n" for line in lines)


# Tables


def main_table(compared: Compared) -> Table:
    """One row a contender, the first metric with its interval and p-value."""
    first, *others = compared.metrics
    tests = [name for name, _, shown in _exact_tests(compared) if shown]
    columns = ["system", "runs", first, "95 %", "p", *tests, *others, *_error_column(compared), "parameters"]
    return Table([*columns, *_speed_columns(compared, words=True)], [_main_row(compared, row) for row in compared.rows])


def length_table(compared: Compared) -> Table:
    """The first metric by length, with its interval; in brackets how many sentences there are."""
    rows = [
        [Cell(name), *(figure_cell(bucket.figures[place]) for bucket in compared.buckets)]
        for place, name in enumerate(compared.names)
    ]
    return Table(_length_columns(compared), rows)


def gain_table(compared: Compared) -> Table | None:
    """The difference to the baseline by length, with its interval; None where there is nothing to compare."""
    halves = compared.halves
    if halves is None or compared.names == [compared.baseline]:
        return None
    last = f"over {halves.words} ({halves.longer:,}) less the rest ({halves.shorter:,})"
    rows = [
        [
            Cell(name),
            *(_difference_cell(bucket.figures[place].difference) for bucket in compared.buckets),
            _difference_cell(halves.gains[place], p=True),
        ]
        for place, name in enumerate(compared.names)
        if name != compared.baseline
    ]
    return Table([*_length_columns(compared), last], rows)


def bag_table(compared: Compared) -> Table:
    """The metrics of a bag of words that learns the same texts, and the difference of each system to it."""
    rows = [
        [Cell(name), *(figure_cell(found[name]) for found in compared.bag), _difference_cell(one.difference, p=True)]
        for name, one in compared.bag[0].items()
    ]
    columns = [f"{metric} (95 %)" for metric in compared.metrics]
    return Table(["system", *columns, f"difference ({compared.metrics[0]})"], rows)


def publication_table(compared: Compared) -> Table | None:
    """Return the first metric beside the published figures of the configs; None: no config has one."""
    if not any(any(row.publication) for row in compared.rows):
        return None
    rows = [
        [
            Cell(row.name),
            Cell(mean_and_spread(row.figures[0].values) or DASH, row.figures[0].mean),
            Cell(row.publication.published or DASH),
            Cell(row.publication.paper or DASH),
        ]
        for row in compared.rows
    ]
    return Table(["system", compared.metrics[0], "published", "paper"], rows, texts=2)


def run_table(compared: Compared) -> Table:
    """One row a run."""
    columns = ["run", *(f"{name} (95 %)" for name in compared.metrics), *_error_column(compared), "updates"]
    rows = [_run_row(compared, row, place, run) for row in compared.rows for place, run in enumerate(row.results)]
    return Table([*columns, *_speed_columns(compared, words=False)], rows)


def figure_cell(figure: Figure) -> Cell:
    """38.37 (37.12 to 39.60): the mean of the runs."""
    return _interval_cell(figure.mean, figure.interval)


def _main_row(compared: Compared, row: SystemRow) -> list[Cell]:
    first, *others = (_score_cell(*one) for one in zip(row.figures, compared.higher_is_better, strict=True))
    if {row.name, compared.baseline} <= {*_near_zero(compared)}:
        first = first._replace(colour="")
    (low, high), found = row.figures[0].interval, row.figures[0].difference
    rates = row.error_rates
    errors = Cell(mean_and_spread(rates, ".1f") or DASH, sum(rates) / len(rates) if rates else None)
    return [
        Cell(row.name),
        number_cell(len(row.results)),
        first,
        Cell(f"{low:.2f} to {high:.2f}", low),
        Cell(DASH) if found is None else first._replace(text=f"{found.p_value:.3g}", value=found.p_value),
        *(Cell(DASH if p is None else f"{p:.3g}", p) for p in _exact_p_values(compared, row)),
        *others,
        *([errors] if _error_column(compared) else []),
        number_cell(row.parameters),
        *_speed_cells(compared, row, [row.tokens, row.words, row.sentences]),
    ]


def _exact_tests(compared: Compared) -> list[tuple[str, str, bool]]:
    """Return the columns of exact tests of the first metric, a note on each, and whether a system has it."""
    found = [row.figures[0].difference for row in compared.rows]
    unit, least = ("folds" if compared.folds else "seeds"), 2 / 2 ** max(len(row.results) for row in compared.rows)
    return [
        (
            "McNemar p",
            "McNemar's exact test of the answers that one system alone has right, two-sided.",
            any(one is not None and one.mcnemar is not None for one in found),
        ),
        (
            "Wilcoxon p",
            f"Wilcoxon's exact signed-rank test over the {unit}, two-sided; for this number at least {least:.3g}.",
            any(one is not None and one.wilcoxon is not None for one in found),
        ),
    ]


def _exact_p_values(compared: Compared, row: SystemRow) -> list[float | None]:
    """Return the p-values in the columns of `_exact_tests` that the table has."""
    found = row.figures[0].difference
    values = [None if found is None else found.mcnemar and found.mcnemar.p_value, found and found.wilcoxon]
    return [value for value, (_, _, shown) in zip(values, _exact_tests(compared), strict=True) if shown]


def _run_row(compared: Compared, row: SystemRow, place: int, run: Result) -> list[Cell]:
    rate = run.error_rate
    return [
        Cell(run.name),
        *(_interval_cell(figure.values[place], figure.intervals[place]) for figure in row.figures),
        *([Cell(DASH if rate is None else f"{rate:.1f}", rate)] if _error_column(compared) else []),
        number_cell(run.updates),
        *_speed_cells(compared, run, [run.tokens, run.sentences]),
    ]


def _length_columns(compared: Compared) -> list[str]:
    return ["words", *(f"{bucket.words} ({bucket.sentences:,})" for bucket in compared.buckets)]


def _error_column(compared: Compared) -> list[str]:
    return ["AER %"] if any(row.error_rates for row in compared.rows) else []


def _speed_columns(compared: Compared, *, words: bool) -> list[str]:
    unit, time = ("core s", "core minutes") if compared.by_core else ("s", "minutes")
    trained = ["train tokens", "train words"] if words else ["train tokens"]
    return [*(f"{what}/{unit}" for what in (*trained, compared.wording.speed)), time]


def _speed_cells(compared: Compared, one: SystemRow | Result, rates: Sequence[ClockRate]) -> list[Cell]:
    """Return the cells of speed, by the clock of `_speed_columns`."""
    clock = int(compared.by_core)
    seconds = one.spent[clock]
    minutes = DASH if seconds is None else f"{seconds / 60:.1f}"
    return [*(number_cell(rate[clock]) for rate in rates), Cell(minutes, seconds)]


def _interval_cell(value: float, interval: Interval, sign: str = "") -> Cell:
    return Cell(f"{value:{sign}.2f} ({interval.low:{sign}.2f} to {interval.high:{sign}.2f})", value)


def _difference_cell(found: Difference | None, *, p: bool = False) -> Cell:
    """+1.20 (+0.31 to +2.05), or with p = 0.012 behind it."""
    if found is None:
        return Cell(DASH)
    cell, tip = _interval_cell(found.value, found.interval, "+"), f"p = {found.p_value:.3g}"
    return cell._replace(text=f"{cell.text}, {tip}" if p else cell.text, tip=tip)


def _score_cell(figure: Figure, higher_is_better: bool | None) -> Cell:
    """38.37 ± 0.21, coloured where it differs significantly from the baseline."""
    cell, found = Cell(mean_and_spread(figure.values), figure.mean), figure.difference
    if found is None:
        return cell
    low, high = found.interval
    tip = f"difference {found.value:+.2f} (95 %: {low:+.2f} to {high:+.2f}), p = {found.p_value:.3g}"
    if found.p_value >= SIGNIFICANT or higher_is_better is None:
        return cell._replace(tip=tip)
    return cell._replace(tip=tip, colour="better" if (found.value > 0) == higher_is_better else "worse")


# Notes


def notes(compared: Compared) -> list[str]:
    """Return notes on the figures, of one or two sentences each."""
    return [
        *_near_zero_note(compared),
        *_certainty(compared),
        *(f"{name}: {signature}" for name, signature in zip(compared.metrics, compared.signatures, strict=True)),
        *(f"{name}: {note}" for name, note, shown in _exact_tests(compared) if shown),
        *_incomparable(compared),
        "Tokens are pieces of a system's own tokenizer on the target, with the end of each text; words are counted "
        "alike for all: tokens divided by the system's tokens per word on the test set.",
        "Core minutes are processor time of training, validation included, all threads together. Speeds are per "
        "second of processor time, in training without validation, the median over the log: neither halts nor "
        "other load count as time."
        if compared.by_core
        else "Minutes are wall time of training, validation and halts included; speeds are by the same clock.",
        *compared.about.get("notes", []),
    ]


def colour_note(compared: Compared) -> str:
    """Return the meaning of the colours in a table."""
    alone = f" over other {compared.wording.examples} alone" if compared.one_seed else ""
    return (
        f"Coloured: better or worse than {compared.baseline} with p < {SIGNIFICANT:g}{alone}; "
        "pointed at: the difference."
    )


def _gain_note(compared: Compared) -> str:
    halves, examples = compared.halves, compared.wording.examples
    edge = f"of more than {halves.words:,} words" if halves else ""
    return (
        f"The system less {compared.baseline}, with the 95 % interval (paired bootstrap). Last column: that difference "
        f"on the {examples} {edge} less that on the rest, {examples} of either half resampled separately; "
        f"an interval without zero: the lead depends on length.{_without_seeds(compared)}"
    )


def _near_zero(compared: Compared) -> list[str]:
    """Return the systems that have learnt next to nothing, by BLEU; [] where at most one has."""
    if "BLEU" not in compared.metrics:
        return []
    place = compared.metrics.index("BLEU")
    names = [row.name for row in compared.rows if row.figures[place].mean < NEAR_ZERO]
    return names if len(names) > 1 else []


def _near_zero_note(compared: Compared) -> Iterator[str]:
    if names := _near_zero(compared):
        yield (
            f"{', '.join(names)} have learnt next to nothing (BLEU below {NEAR_ZERO:g}): a difference between them "
            "does not show which one is better, whatever its p. Train longer, or on more pairs."
        )


def _certainty(compared: Compared) -> Iterator[str]:
    others, one_seed = _resampled(compared), compared.one_seed
    all_once, unit = one_seed == compared.names, "folds" if compared.folds else "seeds"
    of = f"{compared.folds} folds, each of which is a test set" if compared.folds else "the test set"
    part = f"{compared.sentences:,} {compared.wording.examples} of {of}"
    if all_once:
        yield f"{part}; one training of each system. 95 %: over {others} alone (bootstrap)."
    else:
        yield f"{part}. Mean ± standard deviation over the {unit}; 95 %: of that mean, over {others} (bootstrap)."
    yield (
        f"p: probability that {others} reverse or remove the difference to {compared.baseline} (paired bootstrap, "
        "two-sided). Each p is of one comparison, not corrected for their number."
    )
    if one_seed:
        systems = "" if all_once else f" of {', '.join(one_seed)}, trained once,"
        yield (
            f"Intervals and p{systems} do not include the variance over seeds: one system trained with two seeds may "
            "differ from itself."
        )


def _resampled(compared: Compared) -> str:
    """Return the units that the bootstrap resamples."""
    unit = "folds" if compared.folds else "seeds"
    seeds = "" if compared.one_seed == compared.names else f" and other {unit}"
    return f"other {compared.wording.examples}{seeds}"


def _without_seeds(compared: Compared) -> str:
    return " It does not include the variance over seeds." if compared.one_seed else ""


def _incomparable(compared: Compared) -> Iterator[str]:
    """Yield a note on each metric that does not compare all systems with the baseline."""
    others = [row for row in compared.rows if row.name != compared.baseline]
    for place, metric in enumerate(compared.metrics):
        if any(row.figures[place].difference is None for row in others):
            yield (
                f"{metric}: no difference is given for a system with another tokenizer than {compared.baseline}: "
                f"with longer pieces it is higher, whatever a model knows."
            )
