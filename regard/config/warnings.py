"""Warnings that are shown once, and only where nothing is wrong."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deferred_warnings() -> Iterator[None]:
    """Show every warning once at the end, or none where an error is raised instead."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text, category in dict.fromkeys((str(one.message), one.category) for one in caught):
        warnings.warn(text, category, stacklevel=3)
