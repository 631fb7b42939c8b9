"""Sets of labels as one text: `sport, politics`; `-` for none."""

from collections.abc import Iterable

NO_LABELS = "-"


def read_labels(text: str) -> list[str]:
    """Return the labels of a text, each once, in its order.

    >>> read_labels("sport, politics, sport")
    ['sport', 'politics']
    """
    found = dict.fromkeys(label for one in text.split(",") if (label := one.strip()))
    return [label for label in found if label != NO_LABELS]


def write_labels(labels: Iterable[str]) -> str:
    """Return labels as one text."""
    return ", ".join(labels) or NO_LABELS
