"""Everything a user can get wrong. The command line catches `RegardError` once, prints its lines and exits with 2.

RegardError
├── ConfigError       a setting is unknown, missing or of the wrong kind
├── DataError         a line of a data file cannot be used
├── CheckpointError   a saved run cannot be opened or written
└── TrainingError     training cannot go on (a loss that is not a number, too little memory)
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple


class RegardError(Exception):
    """A fault with a clear line for the user: what, where, what to do."""


class Fault(NamedTuple):
    """One wrong setting."""

    place: str  # dotted, as on the command line: model.encoder.num_layers
    problem: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}" + (f" ({self.hint})" if self.hint else "")


class ConfigError(RegardError):
    """One or several wrong settings, all told at once, one line each."""

    def __init__(self, place: str, problem: str, hint: str = "", *, faults: Iterable[Fault] = ()) -> None:
        self.faults = tuple(faults) or (Fault(place, problem, hint),)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    @classmethod
    def of(cls, faults: Iterable[Fault]) -> "ConfigError":
        """One error out of many faults."""
        return cls("", "", faults=faults)


class DataError(RegardError):
    """A file or a line of it cannot be used; `line` counts from 1."""

    def __init__(self, path: Path | str, problem: str, *, line: int | None = None, hint: str = "") -> None:
        self.path, self.line, self.problem, self.hint = path, line, problem, hint
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {problem}" + (f" ({hint})" if hint else ""))


class CheckpointError(RegardError):
    """A saved run is missing, damaged or foreign, or cannot be written."""

    def __init__(self, path: Path | str, problem: str, hint: str = "") -> None:
        self.path, self.problem, self.hint = path, problem, hint
        super().__init__(f"{path}: {problem}" + (f" ({hint})" if hint else ""))


class TrainingError(RegardError):
    """Training stopped; the last good checkpoint is kept."""


def nearest(name: str, allowed: Iterable[str]) -> str:
    """A hint that names the closest allowed word, or all of them when none is close."""
    names = sorted(str(word) for word in allowed)
    lowered = {word.lower(): word for word in names}  # capitals make no difference
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    close = close or [lowered[word] for word in get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)]
    if close:
        return f"did you mean '{close[0]}'?"
    return "there is: " + ", ".join(names) if names else "there is none"
