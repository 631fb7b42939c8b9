"""Sets of labels as one text: `sport, politics`; `-` for none. And which of two labels is positive."""

from collections.abc import Iterable

SEVERAL_LABELS = "labels"  # the column of them
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


def positive_label(labels: Iterable[str]) -> str | None:
    """Return the positive one of two labels, the second in alphabetical order; None of fewer and of more.

    >>> positive_label(["spam", "ham"])
    'spam'
    """
    known = {*labels}
    return max(known) if len(known) == 2 else None
