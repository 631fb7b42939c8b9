"""The manifest of a run: SHA-256 of its settings, environment, origins and vocabularies, and of what it learnt later.

The first are verified by all that open a run: a file that was damaged, cut short, exchanged or edited would give other
answers or other weights. Files that were put into a folder later (a shortlist, counts of words, tables of features)
are verified when they are read. Checkpoints, corpora, final.json and measurements are verified by themselves.
A run that an earlier version made has no manifest, or one without later files, and is opened as it is.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from regard.config import SETTINGS_FILE, read_checked, write_checked
from regard.data.sealed import bring_to_disk, file_digest
from regard.errors import CheckpointError

MANIFEST = "manifest.json"
_FILES, _LEARNT = "files", "learnt"  # parts of a manifest: verified with the run, verified when they are read
Digests = dict[str, list[str]]  # file → SHA-256; two where the file is being replaced, and may be either


def has_manifest(run: Path) -> bool:
    """Return whether a run has been sealed."""
    return bool(_read(run)[_FILES])


def noted_files(run: Path) -> set[str]:
    """Return the files that the manifest of a folder notes, with "/" between folders."""
    known = _read(run)
    return {*known[_FILES], *known[_LEARNT]}


def is_settled(run: Path) -> bool:
    """Return whether a run has been sealed, and no file of it was being replaced when a process was killed."""
    known = _read(run)[_FILES]
    return bool(known) and all(len(digests) == 1 for digests in known.values())


def write_manifest(run: Path, files: Iterable[Path]) -> None:
    """Bring files of a run to disk and note what they are now. Others are no longer verified with it."""
    digests = {path.relative_to(run).as_posix(): [_digest_on_disk(path)] for path in files}
    with _alone(run):
        _write(run, {**_read(run), _FILES: digests})


def verify(run: Path) -> None:
    """Raise CheckpointError for a file of a run that is missing or not as it was written."""
    known = _read(run)[_FILES]
    while (fault := _fault(run, known)) is not None:
        now = _read(run)[_FILES]
        if now == known:
            raise fault
        known = now  # another process has replaced a file meanwhile


def verify_file(path: Path, hint: str) -> None:
    """Raise CheckpointError for a file that its folder's manifest notes and that is not as it was written.

    `hint` says how to mend it. A file that is missing, or noted nowhere, passes.
    """
    folder, name = path.parent, path.name
    noted = _read(folder)[_LEARNT].get(name)
    while path.is_file() and noted is not None and file_digest(path) not in noted:
        now = _read(folder)[_LEARNT].get(name)
        if now == noted:
            raise CheckpointError(path, "was edited or damaged after it was written", hint)
        noted = now


def place_file(new: Path, path: Path) -> None:
    """Put a new file in its place, and note it in the manifest of its folder.

    Killed at any moment this leaves a folder that opens: until the file is there, the manifest allows both.
    """
    folder, name, digest = path.parent, path.name, _digest_on_disk(new)
    with _alone(folder):
        known = _read(folder)
        part = _FILES if name in known[_FILES] else _LEARNT
        before = known[part].get(name) or ([file_digest(path)] if path.is_file() else [])
        _write(folder, {**known, part: {**known[part], name: [*before, digest]}})
        os.replace(new, path)
        _write(folder, {**known, part: {**known[part], name: [digest]}})


def note_file(path: Path, *, settled: bool) -> None:
    """Note a file as it is now; one that is not `settled`, since it goes on to grow, is noted no longer."""
    with _alone(path.parent):
        known = _read(path.parent)
        others = {name: digests for name, digests in known[_LEARNT].items() if name != path.name}
        now = {path.name: [_digest_on_disk(path)]} if settled and path.is_file() else {}
        if {**others, **now} != known[_LEARNT]:
            _write(path.parent, {**known, _LEARNT: {**others, **now}})


def _read(folder: Path) -> dict[str, Digests]:
    """Both parts; empty ones where there is no manifest."""
    try:
        found = read_checked(folder / MANIFEST)
        return {_FILES: found[_FILES], _LEARNT: found.get(_LEARNT, {})}
    except FileNotFoundError:
        return {_FILES: {}, _LEARNT: {}}
    except (OSError, ValueError, KeyError) as error:
        hint = "take it from a copy of the run; without it the run is opened unverified"
        raise CheckpointError(folder / MANIFEST, f"cannot be read: {error}", hint) from error


def _write(folder: Path, parts: dict[str, Digests]) -> None:
    write_checked(folder / MANIFEST, parts)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Inside, no other process changes the manifest of a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _fault(run: Path, known: Digests) -> CheckpointError | None:
    """Return the fault of the first file that is not as it was."""
    for name, digests in known.items():
        try:
            if file_digest(run / name) in digests:
                continue
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
        else:
            problem = "was edited or damaged after it was written"
        return CheckpointError(run / name, problem, _hint(run, name))
    return None


def _hint(run: Path, name: str) -> str:
    if name != SETTINGS_FILE:
        return "take it from a copy of the run"
    folder = quote(str(run))
    return (
        f"put it back; settings are changed at the command, as in: regard train {folder} --resume KEY=VALUE, or for "
        f"one answer: regard predict {folder} decoding.KEY=VALUE. To use the file as it is, delete {run / MANIFEST}"
    )


def _digest_on_disk(path: Path) -> str:
    bring_to_disk(path)
    return file_digest(path)
