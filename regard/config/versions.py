"""Versions of a run: complete runs in its folder `versions`, and a pointer to the one that is in use.

RUN/version.json        {"version": 2}; without it the run's own weights are in use, which are version 0. After an undo
                        also the undone versions, the last one at the end: {"version": 0, "undone": [2, 1]}
RUN/versions/2/model    a complete run; beside it the texts that it has learnt
RUN/versions/.lock      held by the process that makes a version, for hours
RUN/versions/.pointer   held while the pointer is replaced, for a moment

The pointer is replaced atomically, after the version is complete: a process killed at any moment leaves the version
that was in use. A folder with a higher number than the pointer's is unfinished, or was undone. Undone versions are
kept until another one comes into use, whose number is higher.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.config.atomic_write import read_checked, write_checked
from regard.errors import CheckpointError, ConfigError

POINTER, VERSION_FOLDER = "version.json", "versions"
MODEL = "model"  # the run in the folder of a version, and of a demo
UNPROVED = "unproved"  # the run of a lesson before its change is proved: it becomes the model, or is removed
MOST = 5  # versions that are kept, the one in use among them, beside the run's own weights
_KEY, _UNDONE = "version", "undone"
_REMOVED = ".removed-"  # begins the name of a version that is being removed


def current_version(run: Path) -> int:
    """Return the number of the version in use; 0: the run's own weights. Raises CheckpointError for a damaged file."""
    return _pointer(run)[0]


def _pointer(run: Path) -> tuple[int, list[int]]:
    """Return the version in use, and the undone ones."""
    path = run / POINTER
    try:
        values = read_checked(path)
        return int(values[_KEY]), [int(one) for one in values.get(_UNDONE, [])]
    except (FileNotFoundError, NotADirectoryError):
        return 0, []
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "remove it to use the run's own weights"
        raise CheckpointError(path, f"cannot be read: {error}", hint) from error


def version_folder(run: Path, number: int) -> Path:
    """Return the folder of a version, with its texts and its run."""
    return run / VERSION_FOLDER / str(number)


def current_run(run: Path) -> Path:
    """Return the run folder that is in use. Raises CheckpointError where it is missing."""
    number = current_version(run)
    if not number:
        return run
    found = version_folder(run, number) / MODEL
    if not found.is_dir():
        hint = f"remove '{run / POINTER}' to use the run's own weights"
        raise CheckpointError(found, f"version {number}, which is in use, is missing", hint)
    return found


def use_version(run: Path, number: int, base: int) -> None:
    """Point to a version that is complete, and remove undone ones and those that are too old.

    Raises ConfigError where another version than its `base` has come into use since, as by `regard undo`.
    """
    with pointer_held(run):
        current, undone = _pointer(run)
        if current != base:
            problem = f"the version that version {number} was made from was replaced meanwhile"
            raise ConfigError(str(run), f"{problem}: the weights stay as they are", "regard teach RUN FILE")
        if undone:
            write_checked(run / POINTER, {_KEY: base})  # a process killed here leaves them as unfinished ones
        for other in {*undone}.intersection(_numbers(run)):
            _remove(run, other)
        write_checked(run / POINTER, {_KEY: number})
        for other in sorted(_numbers(run), reverse=True)[MOST:]:
            if other < number:
                _remove(run, other)


def new_version(run: Path) -> Path:
    """Return an empty folder for the next version, and remove unfinished ones. The caller holds the lock."""
    with pointer_held(run):
        current, undone = _pointer(run)
        for other in _numbers(run):
            if other > current and other not in undone:
                _remove(run, other)
    for left in (run / VERSION_FOLDER).glob(f"{_REMOVED}*"):
        shutil.rmtree(left, ignore_errors=True)
    folder = version_folder(run, max(current, *undone, 0) + 1)
    folder.mkdir(parents=True)
    return folder


def undo_version(run: Path, note: Callable[[int, int], None]) -> tuple[int, int]:
    """Point to the version before the one in use; return both numbers. First `note` is called with them.

    A version that is being made from the undone one will not be used. Raises ConfigError where there is none before.
    """
    with pointer_held(run):
        number, undone = _pointer(run)
        if not number:
            raise ConfigError(str(run), "has no earlier version: its own weights are in use", "regard teach RUN FILE")
        complete = [one for one in _numbers(run) if one < number and (version_folder(run, one) / MODEL).is_dir()]
        before = max(complete, default=0)
        note(number, before)
        write_checked(run / POINTER, {_KEY: before, _UNDONE: [*undone, number]})
        return number, before


def redo_version(run: Path) -> tuple[int, int]:
    """Point to the version that was undone last; return the numbers of the version before and of this one.

    Raises ConfigError where none was undone since a version came into use.
    """
    with pointer_held(run):
        number, undone = _pointer(run)
        if not undone:
            raise ConfigError(str(run), "has nothing to redo", "a new lesson replaces what was undone")
        *undone, again = undone
        write_checked(run / POINTER, {_KEY: again, **({_UNDONE: undone} if undone else {})})
        return number, again


@contextmanager
def pointer_held(run: Path) -> Iterator[None]:
    """Hold the lock of a run's pointer; wait for it, as it is held for moments only."""
    folder = run / VERSION_FOLDER
    folder.mkdir(exist_ok=True)
    with (folder / ".pointer").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def versions_held(run: Path) -> Iterator[None]:
    """Hold the lock of a run's versions, which ends with its process. Raises ConfigError if another one has it."""
    folder = run / VERSION_FOLDER
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigError(str(run), "another process makes a version of it", "wait for its end") from error
        yield


def _remove(run: Path, number: int) -> None:
    """Remove a version; a process killed meanwhile leaves no part of it under its number."""
    removed = version_folder(run, number).rename(run / VERSION_FOLDER / f"{_REMOVED}{number}.{os.getpid()}")
    shutil.rmtree(removed, ignore_errors=True)


def _numbers(run: Path) -> list[int]:
    folder = run / VERSION_FOLDER
    return [int(name) for name in os.listdir(folder) if name.isdecimal()] if folder.is_dir() else []
