"""`regard predict RUN FILE... --shards N -o FOLDER`: cut, answer, join; the same command resumes.

A launcher has the shards answered: processes of this machine, actors of Ray, tasks of a Slurm array.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

from regard.config import write_atomically
from regard.data.readers.lines import digest
from regard.errors import ConfigError, RegardError, nearest
from regard.recipes.shards.files import RowFile, row_file
from regard.recipes.shards.plan import (
    JOINED,
    OWN_FILES,
    SCRIPT,
    SHARDS,
    Plan,
    PredictOptions,
    ShardFolder,
    claimed,
    cut_files,
    join,
    shard_length,
)
from regard.recipes.shards.worker import FAULT, ShardWorker, digests_of
from regard.runs.run import Run

_MODULE = "regard.recipes.shards"
_ARRAY_TASKS = 1_000
_RESTARTS = 3  # of processes that were killed, while no shard was done
_LOOK_SECONDS, _SAY_SECONDS = 0.2, 10.0


class Launcher(ABC):
    """A way to have shards answered by the same function, `ShardWorker.answer`."""

    @abstractmethod
    def launch(self, folder: ShardFolder, plan: Plan, workers: int, say: Callable[[str], None]) -> None:
        """Have the shards answered that are not done. Some may be left where others do it later."""


class Processes(Launcher):
    """Processes on this machine, which share its cores. One that was killed is started again."""

    def launch(self, folder: ShardFolder, plan: Plan, workers: int, say: Callable[[str], None]) -> None:
        progress = ShardProgress(folder, plan, say)
        running = [_started(folder, workers) for _ in range(min(workers, progress.left))]
        restarts = 0
        try:
            while running:
                time.sleep(_LOOK_SECONDS)
                if progress.update():
                    restarts = 0
                for process in [one for one in running if one.poll() is not None]:
                    running.remove(process)
                    if process.returncode == FAULT:
                        raise RegardError(f"{folder.path}: a process ended; its line above has the reason")
                    if process.returncode and progress.left:
                        restarts += 1
                        if restarts > _RESTARTS:
                            raise RegardError(_killed(folder, process.returncode))
                        running.append(_started(folder, workers))
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait()


class Ray(Launcher):
    """Actors of Ray Data, each of which loads the run once. All machines must see the folder and the run."""

    def __init__(self) -> None:
        """Raise ConfigError where Ray is not installed."""
        if find_spec("ray") is None:
            raise ConfigError("--on", "ray is not installed", "pip install -e '.[ray]'")

    def launch(self, folder: ShardFolder, plan: Plan, workers: int, say: Callable[[str], None]) -> None:
        import ray

        ray.data.DataContext.get_current().enable_progress_bars = False
        progress = ShardProgress(folder, plan, say)
        left = [number for number in range(len(plan.shards)) if not folder.done(number)]
        shards = ray.data.from_items([{"shard": number} for number in left], override_num_blocks=len(left))
        answered = shards.map_batches(
            RayActor,
            fn_constructor_kwargs={"folder": str(folder.path.resolve()), "directory": str(Path.cwd())},
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=min(workers, len(left))),
        )
        for _ in answered.iter_rows():
            progress.update()


class RayActor:
    """A `ShardWorker` as Ray Data calls it."""

    def __init__(self, folder: str, directory: str) -> None:
        """Answer shards of a folder from a working directory: paths of the run and a glossary may be relative."""
        os.chdir(directory)
        self._worker = ShardWorker(folder)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Answer the shards of a batch, {"shard": numbers}, and return it."""
        self._worker.finish(map(int, batch["shard"]))
        return batch


class Slurm(Launcher):
    """A script for an array job of at most 1,000 tasks, Slurm's usual bound; repeated, the command joins."""

    def launch(self, folder: ShardFolder, plan: Plan, workers: int, say: Callable[[str], None]) -> None:
        script, path = folder.path / SCRIPT, quote(str(folder.path.resolve()))
        left = [number for number in range(len(plan.shards)) if not folder.done(number)]
        tasks = min(_ARRAY_TASKS, len(plan.shards))  # a task answers each shard whose number leaves its own
        lines = [
            "#!/bin/bash",
            "#SBATCH --job-name=regard",
            f"#SBATCH --array={','.join(_spans(sorted({number % tasks for number in left})))}%{workers}",
            f"#SBATCH --output={path}/slurm-%a.log",
            f"cd {quote(str(Path.cwd()))} || exit 2",  # paths of the run, its ensemble and a glossary may be relative
            f'{quote(sys.executable)} -m {_MODULE} {path} "$SLURM_ARRAY_TASK_ID" {tasks}',
        ]
        write_atomically(script, "\n".join([*lines, ""]))
        say(f"{len(left)} shards to answer: sbatch {script}; then repeat this command: it joins the answers")


LAUNCHERS: dict[str, type[Launcher]] = {"processes": Processes, "ray": Ray, "slurm": Slurm}


class ShardProgress:
    """Shards that are done, printed from time to time."""

    def __init__(self, folder: ShardFolder, plan: Plan, say: Callable[[str], None]) -> None:
        self._folder, self._plan, self._say = folder, plan, say
        self._waiting = {number for number in range(len(plan.shards)) if not folder.done(number)}
        self._began, self._said, self._rows = time.monotonic(), time.monotonic(), 0
        if len(self._waiting) < len(plan.shards):
            say(f"{len(plan.shards) - len(self._waiting):,} of {len(plan.shards):,} shards were done before")

    @property
    def left(self) -> int:
        """The number of shards that are not done."""
        return len(self._waiting)

    def update(self) -> bool:
        """Return whether a shard was done since the last call."""
        done = {number for number in self._waiting if self._folder.done(number)}
        self._waiting -= done
        self._rows += sum(self._plan.shards[number].rows for number in done)
        now = time.monotonic()
        if done and (now - self._said > _SAY_SECONDS or not self._waiting):
            speed = self._rows / (now - self._began)
            rest = sum(self._plan.shards[number].rows for number in self._waiting) / speed
            done_of = f"{len(self._plan.shards) - self.left:,} of {len(self._plan.shards):,} shards"
            self._say(f"{done_of} · {speed:,.{0 if speed >= 10 else 1}f} rows/s · {rest / 60:.1f} min left")
            self._said = now
        return bool(done)


def _started(folder: ShardFolder, workers: int) -> "subprocess.Popen[bytes]":
    threads = max(1, (os.cpu_count() or 1) // workers)
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    return subprocess.Popen([sys.executable, "-m", _MODULE, str(folder.path)], env=environment)


def _killed(folder: ShardFolder, code: int) -> str:
    reason = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return f"{folder.path}: processes end without an answer: {reason} (too little memory? fewer --workers)"


def _spans(numbers: Sequence[int]) -> list[str]:
    """Return numbers that follow each other as spans: 0-3, 7."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return [str(first) if first == last else f"{first}-{last}" for first, last in spans]


@dataclass(frozen=True)
class ShardedRequest:
    """Files to be answered in shards."""

    options: PredictOptions
    files: Sequence[Path]
    folder: Path
    shards: int
    workers: int | None = None  # None: one a core
    launcher: str = "processes"
    column: str | None = None  # of the texts of a table


def predict_shards(request: ShardedRequest, say: Callable[[str], None]) -> list[Path]:
    """Answer files and return those of the answers; none where shards are left for others to answer.

    Raises ConfigError for files of one name, and where the folder holds another prediction; DataError for
    a row that cannot be read.
    """
    if request.launcher not in LAUNCHERS:
        raise ConfigError("--on", f"unknown '{request.launcher}'", nearest(request.launcher, LAUNCHERS))
    launcher = LAUNCHERS[request.launcher]()  # before the folder is made: a program may be missing
    files = [row_file(path, request.column, as_json=request.options.as_json) for path in request.files]
    _check_names(files, request.folder)
    digests = digests_of(Run.open(request.options.run, request.options.changes), request.options)
    folder = ShardFolder(request.folder)
    folder.path.mkdir(parents=True, exist_ok=True)
    with claimed(folder.lock) as held:
        if not held:
            raise ConfigError("--output", f"another process works in '{folder.path}'", "wait for its end, or stop it")
        return _predicted(folder, request, launcher, files, digests, say)


def _predicted(
    folder: ShardFolder,
    request: ShardedRequest,
    launcher: Launcher,
    files: Sequence[RowFile],
    digests: Mapping[str, str],
    say: Callable[[str], None],
) -> list[Path]:
    plan = folder.plan()
    if plan is None:
        _check_free(folder, files)
        plan = cut_files(folder, request.options, digests, files, request.shards)
        say(f"rows: {plan.rows:,}, files: {len(files)}, shards: {len(plan.shards)}")
    else:
        _check_same(folder, plan, request.options, files, digests)
        length = shard_length(plan.rows, request.shards)
        if len(plan.shards) != sum(-(-given.rows // length) for given in plan.inputs):
            say(f"the {len(plan.shards):,} shards of the first call are kept; --shards {request.shards} has no effect")
    if (folder.path / JOINED).exists():
        results = _joined(folder)
        shutil.rmtree(folder.path / SHARDS, ignore_errors=True)  # of a command that was killed meanwhile
    else:
        workers = request.workers or os.cpu_count() or 1
        left = [number for number in range(len(plan.shards)) if not folder.done(number)]
        if left:
            launcher.launch(folder, plan, workers, say)
        if not all(folder.done(number) for number in left):
            return []
        results = join(folder, plan)
    say(f"wrote {', '.join(map(str, results))}: {plan.rows:,} rows")
    return results


def _check_names(files: Sequence[RowFile], folder: Path) -> None:
    """Raise ConfigError for results of one name, one that is an input, or one of the folder's own names."""
    for name, count in Counter(file.result for file in files).items():
        if count > 1:
            raise ConfigError(name, f"{count} files have this name", "rename one, or take two folders")
        if name in OWN_FILES:
            raise ConfigError(name, "is the name of a file of --output itself", "rename the input")
    for file in files:
        if (folder / file.result).resolve() == file.path.resolve():
            raise ConfigError("--output", f"'{file.path}' would be overwritten", "choose another folder")


def _check_free(folder: ShardFolder, files: Sequence[RowFile]) -> None:
    """Make the folder of the shards. Raises ConfigError where a file would be overwritten."""
    for name in (JOINED, *(file.result for file in files)):
        if (folder.path / name).exists():
            raise ConfigError("--output", f"'{folder.path / name}' would be overwritten", "choose another folder")
    (folder.path / SHARDS).mkdir(exist_ok=True)
    for mark in (folder.path / SHARDS).glob("*.done"):
        mark.unlink()


def _check_same(
    folder: ShardFolder, plan: Plan, options: PredictOptions, files: Sequence[RowFile], digests: Mapping[str, str]
) -> None:
    """Raise ConfigError where a folder holds other files, another run or other options."""
    now = [(str(file.path), file.column, digest(file.path).hex()) for file in files]
    reasons = {
        **{name: plan.digests.get(name) == checksum for name, checksum in digests.items()},
        "options": plan.options == options,
        "files": [tuple(given[:3]) for given in plan.inputs] == now,
    }
    if other := [name for name, same in reasons.items() if not same]:
        problem = f"'{folder.path}' was begun with other {' and '.join(other)}"
        raise ConfigError("--output", problem, f"another folder, or rm -r {folder.path}")


def _joined(folder: ShardFolder) -> list[Path]:
    """Return the results. Raises ConfigError where one was changed or removed."""
    known = json.loads((folder.path / JOINED).read_bytes())
    for name, before in known.items():
        path = folder.path / name
        if not path.exists() or digest(path).hex() != before:
            raise ConfigError("--output", f"'{path}' was changed or removed", f"rm -r {folder.path}, and begin again")
    return [folder.path / name for name in known]
