"""The manifest of a run: SHA-256 of its settings, environment, origins and vocabularies, as they were written.

Whoever opens a run verifies it: a file that was damaged, cut short, exchanged or edited is told, where it would give
other answers or other weights. Checkpoints, corpora and final.json are verified by themselves when they are read.
A run that an earlier version made has no manifest and is opened as it is, until a training goes on in it.
"""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from shlex import quote

from regard.config import SETTINGS_FILE, read_checked, write_checked
from regard.errors import CheckpointError

MANIFEST = "manifest.json"
Digests = dict[str, list[str]]  # file → SHA-256; two where the file is being replaced, and may be either


def has_manifest(run: Path) -> bool:
    """Whether a run has been sealed."""
    return (run / MANIFEST).exists()


def is_settled(run: Path) -> bool:
    """Whether a run has been sealed, and no file of it was being replaced when a process was killed."""
    known = _read(run)
    return bool(known) and all(len(digests) == 1 for digests in known.values())


def write_manifest(run: Path, files: Iterable[Path]) -> None:
    """Bring files of a run to disk and note what they are now. Others are no longer verified."""
    digests: Digests = {}
    for path in files:
        with path.open("rb") as file:
            os.fsync(file.fileno())
        digests[path.relative_to(run).as_posix()] = [_digest(path)]
    _write(run, digests)


def verify(run: Path) -> None:
    """Raises CheckpointError for a file that is missing or not as it was written."""
    known = _read(run)
    while (fault := _fault(run, known)) is not None:
        now = _read(run)
        if now == known:
            raise fault
        known = now  # another process has replaced a file meanwhile


def replace_file(run: Path, name: str, new: Path) -> None:
    """Put a new file in the place of one of the manifest.

    Killed at any moment this leaves a run that opens: until the file is there, the manifest allows both.
    """
    known, digest = _read(run), _digest(new)
    _write(run, {**known, name: [*known[name], digest]})
    os.replace(new, run / name)
    _write(run, {**known, name: [digest]})


def _read(run: Path) -> Digests:
    """Of every file; nothing where there is no manifest."""
    try:
        found: Digests = read_checked(run / MANIFEST)["files"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError) as error:
        hint = "take it from a copy of the run; without it the run is opened unverified"
        raise CheckpointError(run / MANIFEST, f"cannot be read: {error}", hint) from error
    return found


def _write(run: Path, digests: Digests) -> None:
    write_checked(run / MANIFEST, {"files": digests})


def _fault(run: Path, known: Digests) -> CheckpointError | None:
    """What is wrong with the first file that is not as it was."""
    for name, digests in known.items():
        try:
            if _digest(run / name) in digests:
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


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
