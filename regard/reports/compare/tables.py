"""What a comparison found as tables of texts."""

from regard.reports.compare.row import Row, mean_and_spread
from regard.reports.compare.summary import Compared
from regard.reports.compare.table import NONE, Table, minutes, number

SPEEDS = ("train tokens/s", "train words/s", "decode sentences/s")
TIMES = ("minutes", "core minutes")


def main_table(compared: Compared) -> Table:
    """One row a contender, the first metric with its interval and p-value."""
    first, *others = compared.metrics
    aligned = any(row.error_rates for row in compared.rows)
    columns = ["system", "runs", first, "95 %", "p", *others, *(["AER %"] if aligned else [])]
    columns += ["parameters", *SPEEDS, *TIMES]
    return Table(columns, [_cells(row, aligned) for row in compared.rows])


def length_table(compared: Compared) -> Table:
    """The first metric by words of the source; in brackets how many sentences there are."""
    columns = ["words", *(f"{bucket.words} ({bucket.sentences:,})" for bucket in compared.buckets)]
    values = [[f"{value:.2f}" for value in bucket.values] for bucket in compared.buckets]
    return Table(columns, [[name, *cells] for name, *cells in zip(compared.names, *values, strict=True)])


def origin_table(compared: Compared) -> Table | None:
    """The first metric beside what was published, as the configs tell it; None where none of them does."""
    if not any(any(row.origin) for row in compared.rows):
        return None
    rows = [
        [row.name, mean_and_spread(row.figures[0].values), row.origin.published or NONE, row.origin.paper or NONE]
        for row in compared.rows
    ]
    return Table(["system", compared.metrics[0], "published", "paper"], rows, texts=2)


def _cells(row: Row, aligned: bool) -> list[str]:
    first, *others = row.figures
    low, high = first.interval
    return [
        row.name,
        str(len(row.results)),
        mean_and_spread(first.values),
        f"{low:.2f} to {high:.2f}",
        NONE if first.difference is None else f"{first.difference.p_value:.3g}",
        *(mean_and_spread(figure.values) for figure in others),
        *([mean_and_spread(row.error_rates, ".1f")] if aligned else []),
        number(row.parameters),
        *map(number, (row.tokens_per_second, row.words_per_second, row.sentences_per_second)),
        minutes(row.seconds),
        minutes(row.core_seconds),
    ]
