"""The manifest of a run: SHA-256 of its settings, environment, origins and vocabularies, and of files added later.

The former are verified whenever a run is opened: a damaged, truncated or edited file would change predictions or
weights. Files added later (a shortlist, word counts, feature tables) are verified when they are read. Checkpoints,
corpora, final.json and measurements are verified separately.
Runs of earlier versions have no manifest, or one without later files, and are opened unverified.
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
    """Return whether a run is sealed and no process died while it replaced one of its files."""
    known = _read(run)[_FILES]
    return bool(known) and all(len(digests) == 1 for digests in known.values())


def write_manifest(run: Path, files: Iterable[Path]) -> None:
    """Flush files of a run to disk and store their digests. Other files are no longer verified with the run."""
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
    """Raise CheckpointError for a file that differs from its digest in the folder's manifest.

    `hint` says how to repair it. A file that is missing, or not in the manifest, passes.
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

    Killed at any moment this leaves a folder that opens: the manifest allows both files until the new one is there.
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
    """Store the digest of a file; remove it where the file is not `settled`, since it still grows."""
    with _alone(path.parent):
        known = _read(path.parent)
        others = {name: digests for name, digests in known[_LEARNT].items() if name != path.name}
        now = {path.name: [_digest_on_disk(path)]} if settled and path.is_file() else {}
        if {**others, **now} != known[_LEARNT]:
            _write(path.parent, {**known, _LEARNT: {**others, **now}})


def _read(folder: Path) -> dict[str, Digests]:
    """Return both parts; empty ones where there is no manifest."""
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
    """Lock the manifest of a folder against other processes."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _fault(run: Path, known: Digests) -> CheckpointError | None:
    """Return the error of the first file that differs from its digest."""
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
