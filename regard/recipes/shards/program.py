"""`regard predict RUN FILE... --shards N -o FOLDER`: cut, answer, join; the same command goes on after any end."""

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import ConfigError, nearest
from regard.recipes.shards.files import TextFile, text_file
from regard.recipes.shards.launchers import LAUNCHERS
from regard.recipes.shards.plan import JOINED, SHARDS, Answering, Plan, ShardFolder, claimed, cut, fingerprint, join
from regard.runs.run import Run

Say = Callable[[str], None]


@dataclass(frozen=True)
class ShardedRequest:
    """Files to be answered in shards."""

    answering: Answering
    files: Sequence[Path]
    folder: Path
    shards: int
    workers: int | None = None  # None: one a core
    launcher: str = "processes"
    column: str | None = None  # of the texts of a table


def predict_shards(request: ShardedRequest, say: Say) -> list[Path]:
    """Answer files and return those of the answers; none where shards are left for others to answer.

    Raises ConfigError for files that cannot be told apart, and where the folder holds another prediction; DataError for
    a row that cannot be read.
    """
    if request.launcher not in LAUNCHERS:
        raise ConfigError("--on", f"unknown '{request.launcher}'", nearest(request.launcher, LAUNCHERS))
    files = [text_file(path, request.column, as_json=request.answering.as_json) for path in request.files]
    _check_names(files, request.folder)
    weights = Run.open(request.answering.run, request.answering.changes).weights_digest
    folder = ShardFolder(request.folder)
    folder.path.mkdir(parents=True, exist_ok=True)
    with claimed(folder.lock) as held:
        if not held:
            raise ConfigError("--output", f"another process works in '{folder.path}'", "wait for its end, or stop it")
        return _predicted(folder, request, files, weights, say)


def _predicted(
    folder: ShardFolder, request: ShardedRequest, files: Sequence[TextFile], weights: str, say: Say
) -> list[Path]:
    plan = folder.plan()
    if plan is None:
        (folder.path / SHARDS).mkdir(exist_ok=True)
        plan = cut(folder, request.answering, weights, files, request.shards)
        say(f"rows: {plan.rows:,}, files: {len(files)}, shards: {len(plan.shards)}")
    else:
        _check_same(folder, plan, request.answering, files, weights)
    if (folder.path / JOINED).exists():
        results = _joined(folder)
    else:
        workers = request.workers or os.cpu_count() or 1
        left = [number for number in range(len(plan.shards)) if not folder.done(number)]
        if left:
            LAUNCHERS[request.launcher].launch(folder, plan, workers, say)
        if not all(folder.done(number) for number in left):
            return []
        results = join(folder, plan)
    say(f"{plan.rows:,} rows answered: {', '.join(map(str, results))}")
    return results


def _check_names(files: Sequence[TextFile], folder: Path) -> None:
    """Raise ConfigError for results of one name, or one that is an input."""
    for name, count in Counter(file.result for file in files).items():
        if count > 1:
            raise ConfigError(name, f"{count} files have this name", "rename one, or take two folders")
    for file in files:
        if (folder / file.result).resolve() == file.path.resolve():
            raise ConfigError("--output", f"'{file.path}' would be overwritten", "choose another folder")


def _check_same(folder: ShardFolder, plan: Plan, answering: Answering, files: Sequence[TextFile], weights: str) -> None:
    """Raise ConfigError where a folder holds other files, another run or other options."""
    now = [(str(file.path), file.column, *fingerprint(file.path)) for file in files]
    reasons = {
        "weights of the run": plan.weights == weights,
        "options": plan.answering == answering,
        "files": [tuple(given[:4]) for given in plan.inputs] == now,
    }
    if other := [name for name, same in reasons.items() if not same]:
        problem = f"'{folder.path}' was begun with other {' and '.join(other)}"
        raise ConfigError("--output", problem, f"another folder, or rm -r {folder.path}")


def _joined(folder: ShardFolder) -> list[Path]:
    """Return the results. Raises ConfigError where one was changed or removed."""
    known = json.loads((folder.path / JOINED).read_bytes())
    for name, before in known.items():
        path = folder.path / name
        if not path.exists() or list(fingerprint(path)) != before:
            raise ConfigError("--output", f"'{path}' was changed or removed", f"rm -r {folder.path}, and begin again")
    return [folder.path / name for name in known]
