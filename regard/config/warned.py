"""Warnings that are told once, and only where nothing is wrong."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def warned_last() -> Iterator[None]:
    """Keeps every warning until the end and gives it once, or not at all where an error is raised instead."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield
    for text, category in dict.fromkeys((str(one.message), one.category) for one in told):
        warnings.warn(text, category, stacklevel=3)
