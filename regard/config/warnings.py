"""Warnings that are shown once, and only where nothing is wrong; notes of parts on settings that do nothing."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Note(NamedTuple):
    """Warning of a part about a setting that changes nothing."""

    place: str  # of the setting, as seen from where the note is
    problem: str
    beyond: float = 0.0  # the note is true where no text has more pieces than this
    absolute: bool = False  # True: `place` is that in a config

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


_NOTES: ContextVar[list[Note] | None] = ContextVar("notes of the parts that are being built", default=None)


def note(setting: str, problem: str, *, beyond: float | None = None, absolute: bool = False) -> None:
    """Warn, while a part is built, that one of its settings changes nothing; with `beyond` only for shorter texts.

    Heard where a config is read (`collected_notes`); a part that is built in Python alone warns nobody.
    """
    notes = _NOTES.get()
    if notes is not None:
        notes.append(Note(setting, problem, float("inf") if beyond is None else beyond, absolute))


@contextmanager
def notes_at(place: str, *, absolute: bool = False) -> Iterator[None]:
    """Add a place to the notes of the parts that are built inside."""
    outer, inner = _NOTES.get(), list[Note]()
    if outer is None:
        yield
        return
    token = _NOTES.set(inner)
    try:
        yield
    finally:
        _NOTES.reset(token)
    placed = (one if one.absolute else one._replace(place=f"{place}.{one.place}") for one in inner)
    outer += [one._replace(absolute=one.absolute or absolute) for one in placed]


@contextmanager
def collected_notes() -> Iterator[list[Note]]:
    """Hear the notes of all parts that are built inside."""
    notes: list[Note] = []
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)


@contextmanager
def deferred_warnings() -> Iterator[None]:
    """Show every warning once at the end, or none where an error is raised instead."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text, category in dict.fromkeys((str(one.message), one.category) for one in caught):
        warnings.warn(text, category, stacklevel=3)
