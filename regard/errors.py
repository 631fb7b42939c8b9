"""Everything a user can get wrong. The command line catches `RegardError` once, prints its lines and exits with 2.

RegardError
├── ConfigError       a setting is unknown, missing or of the wrong kind (a ValueError, too)
│   └── PartError     a part cannot work with its settings; the registry that builds it adds their place
├── DataError         a line of a data file cannot be used
│   └── TooLongError  a text has more pieces than a model takes
├── CheckpointError   a saved run cannot be opened or written
└── TrainingError     training cannot go on (a loss that is not a number, too little memory)
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple, Self


class RegardError(Exception):
    """A fault with a clear line for the user: what, where, what to do."""


class Fault(NamedTuple):
    """One wrong setting."""

    place: str  # dotted, as on the command line: model.encoder.num_layers
    problem: str
    hint: str = ""

    def __str__(self) -> str:
        start = f"{self.place}: " if self.place else ""
        return f"{start}{self.problem}" + (f" ({self.hint})" if self.hint else "")

    def inside(self, place: str) -> "Fault":
        """The same fault of what stands at `place`."""
        return self._replace(place=".".join(filter(None, (place, self.place))))


class ConfigError(RegardError, ValueError):
    """One or several wrong settings, all reported at once, one line each."""

    def __init__(self, place: str, problem: str, hint: str = "") -> None:
        self.faults: tuple[Fault, ...] = (Fault(place, problem, hint),)
        super().__init__(str(self.faults[0]))

    @classmethod
    def of(cls, faults: Iterable[Fault]) -> Self:
        """One error out of many faults."""
        error = cls("", "")
        error.faults = tuple(faults)
        error.args = ("\n".join(str(fault) for fault in error.faults),)
        return error

    def inside(self, place: str) -> "ConfigError":
        """The same faults of what stands at `place`."""
        return ConfigError.of(fault.inside(place) for fault in self.faults)


class PartError(ConfigError):
    """A part cannot work with its settings, or not where it stands; `setting` names one that is to blame.

    A part does not know where in a config it stands: `Registry.build` adds that.
    """

    def __init__(self, problem: str, hint: str = "", *, setting: str = "") -> None:
        super().__init__(setting, problem, hint)


class DataError(RegardError):
    """A file or a line of it cannot be used; `line` counts from 1."""

    def __init__(self, path: Path | str, problem: str, *, line: int | None = None, hint: str = "") -> None:
        self.path, self.line, self.problem, self.hint = path, line, problem, hint
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {problem}" + (f" ({hint})" if hint else ""))

    def at(self, line: int) -> Self:
        """The same fault of another line."""
        return type(self)(self.path, self.problem, line=line, hint=self.hint)


class TooLongError(DataError):
    """A text is longer than a model takes: the others can still be answered."""


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
