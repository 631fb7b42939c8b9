"""Decimal numbers as text: one, or rows; `0.31 1; -0.5 0` is two rows of two numbers."""

import math
import re
from collections.abc import Iterable

import numpy as np

from regard.arrays import Floats
from regard.errors import DataError

WRITTEN_DIGITS = 6  # behind the point; what is finer is rounded
LARGEST_NUMBER = 1000  # of a number, whatever its sign
ROW_FORM = "numbers with spaces between them, rows with semicolons: 0.31 1; -0.5 0"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def number_or_none(text: str) -> float | None:
    """Return the number of a text; None for anything else, such as words, infinities and numbers with a unit."""
    found = _NUMBER.fullmatch(text.strip())
    number = math.inf if found is None else float(found[0])
    return number if math.isfinite(number) else None


def read_rows(text: str) -> Floats:
    """Return the numbers (row, width). Raises DataError for anything but rows of equally many numbers."""
    widths = [len(row.split()) for row in text.split(";")]
    if not min(widths):
        problem = f"row {widths.index(0) + 1} has no numbers" if max(widths) else "there are no numbers"
        raise DataError("numbers", problem, hint=ROW_FORM)
    if min(widths) != max(widths):
        row = next(place for place, width in enumerate(widths) if width != widths[0])
        raise DataError("numbers", f"row {row + 1} has {widths[row]} numbers, the first has {widths[0]}", hint=ROW_FORM)
    words = text.replace(";", " ").split()
    try:
        numbers = np.array([float(word) for word in words])
    except ValueError:
        strange = next(word for word in words if not is_number(word))
        raise DataError("numbers", f"'{strange:.60}' is not a number", hint=ROW_FORM) from None
    if not bool((np.abs(numbers) <= LARGEST_NUMBER).all()):  # nor one that is not a number
        strange = words[int(np.argmin(np.abs(numbers) <= LARGEST_NUMBER))]
        raise DataError(
            "numbers", f"'{strange:.60}' is out of bounds", hint=f"from -{LARGEST_NUMBER} to {LARGEST_NUMBER}"
        )
    return numbers.reshape(len(widths), widths[0])


def rows_or_none(text: str) -> Floats | None:
    """Return the numbers (row, width), None for a text that is none."""
    try:
        return read_rows(text)
    except DataError:
        return None


def write_rows(rows: Iterable[Iterable[float]]) -> str:
    """Return rows as `read_rows` reads them, each number with as few digits as its rounding leaves."""
    return "; ".join(" ".join(map(_written, row)) for row in rows)


def _written(number: float) -> str:
    text = f"{number:.{WRITTEN_DIGITS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def is_number(word: str) -> bool:
    """Return whether a word spells a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True
