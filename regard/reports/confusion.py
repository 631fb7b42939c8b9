"""A confusion matrix as text and as a picture."""

from regard.evaluation.confusion import NOTHING, Confusion
from regard.explain.pictures import svg
from regard.reports.table import Cell, Table, number_cell

NONE = "(none)"  # how NOTHING is called
ROWS, LONGEST = 50, 40  # classes that are told, and characters of their names
MOST = 12  # classes of a matrix as text; a larger one is told in JSON and drawn in the picture


def text_of(found: Confusion) -> str:
    """A table of the classes, and the matrix where it is not too large for a terminal."""
    tables = [_classes(found)] if len(found.labels) > MOST else [_classes(found), _matrix(found)]
    lines = [table.terminal().rstrip("\n") for table in tables]
    left = len(found.classes()) - ROWS
    return "\n".join([*lines, *([f"{left:,} more classes: --json tells them"] if left > 0 else [])])


def picture_of(found: Confusion, title: str = "Answers to the examples of each label") -> str:
    """An SVG document: a row for each right label, a column for each answer, the darker the larger its share."""
    return svg(_names(found), _names(found), found.shares(), title=title)


def _classes(found: Confusion) -> Table:
    rows = [
        [Cell(_short(one.label)), *map(_percent, (one.precision, one.recall, one.f1)), number_cell(one.examples)]
        for one in found.classes()[:ROWS]
    ]
    return Table(["class", "precision", "recall", "f1", "examples"], rows)


def _matrix(found: Confusion) -> Table:
    names = [*map(_short, _names(found))]
    rows = [
        [Cell(label), *(number_cell(count) for count in counts)]
        for label, counts in zip(names, found.counts.tolist(), strict=True)
    ]
    return Table(["right, answered:", *names], rows)


def _names(found: Confusion) -> list[str]:
    return [NONE if label == NOTHING else label for label in found.labels]


def _short(label: str) -> str:
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def _percent(value: float | None) -> Cell:
    return number_cell(None) if value is None else Cell(f"{value:.2f}", value)
