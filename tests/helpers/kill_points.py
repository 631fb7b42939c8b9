"""Trainings in processes of their own, killed before the n-th change of a file in their run, or after some time."""

import json
import multiprocessing
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard.errors import RegardError
from regard.experiment import SETTINGS_FILE, Experiment, read_experiment
from regard.runs import Run, RunFolder, train_run
from regard.training import checkpoint as files

WRITES = os.O_WRONLY | os.O_RDWR
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "fcntl.flock")
CONTEXT = multiprocessing.get_context("forkserver")  # torch is imported once for all of them
CONTEXT.set_forkserver_preload(["regard.runs", "regard.predictor", "torch._refs", "torch._dynamo"])
PATIENCE = 300.0  # seconds, of a training of a few updates
Change = tuple[str, str]  # the kind of a change of a file, and its name without numbers


class Point(NamedTuple):
    """Where a process is killed."""

    number: int  # of the change of a file before which it is killed
    torn: bool = False  # a file that is opened anew is emptied first, as if its first byte was still to come


class Job(NamedTuple):
    """One call of a training."""

    run: Path
    words: tuple[str, ...]  # settings, of a run that is begun; changes to it otherwise
    start: Path | None = None  # the run it starts from
    ranks: int = 1

    def experiment(self, *, resume: bool) -> Experiment:
        """The settings, as the command reads them."""
        if resume:
            return Run.open(self.run, [one for one in self.words if one.startswith("training.max_")]).experiment
        return read_experiment(None, [*self.words, f"run={self.run}"], start=self.start)

    def call(self, *, resume: bool) -> bool:
        """Train in this process."""
        return train_run(self.experiment(resume=resume), resume=resume, quiet=True)

    @property
    def can_resume(self) -> bool:
        """Whether there are settings to go on with; else the run is to be begun."""
        return (self.run / SETTINGS_FILE).exists()


def watch(run: Path, act: Callable[[str, str, int], None]) -> None:
    """Call `act` with kind, name and flags before each change of a file in a folder, or by way of an open folder."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, int) or not (flags or 0) & WRITES:
                return
        elif event in CHANGES:
            path, flags = arguments[0], 0
        else:
            return
        name = "" if isinstance(path, int) else os.fsdecode(path)
        if isinstance(path, int) or not os.path.isabs(name) or name.startswith(str(run)):
            act(event, name, flags)

    sys.addaudithook(hook)


def changes_of(job: Job, *, resume: bool = False) -> list[Change]:
    """Every change of a file in a training that nobody kills."""
    told = job.run.with_suffix(".changes")
    assert in_process(_listed, job, resume, told) == 0
    return [(kind, name) for kind, name in json.loads(told.read_text())]


def killed(job: Job, point: Point, *, resume: bool = False) -> bool:
    """Whether it was still at work at that point."""
    return in_process(_killed, job, resume, point) == -signal.SIGKILL


def killed_after(job: Job, seconds: float, *, resume: bool = False) -> bool:
    """The same after some time."""
    processes = started(_trained, job, resume)
    processes[0].join(seconds)
    for process in processes:
        process.kill()
        process.join()
    return processes[0].exitcode == -signal.SIGKILL


def at_once(job: Job, delay: float) -> list[int]:
    """The exit codes of two processes that begin the same run within some seconds."""
    moment = time.time() + 1
    processes = [started(_begun_at, job, moment + later)[0] for later in (0, delay)]
    for process in processes:
        process.join(PATIENCE)
    return [process.exitcode for process in processes]


def finished(job: Job) -> None:
    """Go on, or begin where there is nothing to go on with. Raises where that cannot be done."""
    assert in_process(_trained, job, job.can_resume) == 0


def opens(run: Path) -> None:
    """Raises RegardError where a run that has saved something cannot be opened."""
    try:
        files.latest_valid(run, training=False)
    except RegardError:
        return
    folder = RunFolder(run)
    assert Run.open(folder).columns
    folder.checkpoint()


def result_of(run: Path) -> tuple[dict[tuple[str, str], torch.Tensor], list[str]]:
    """Every tensor of the last checkpoint, by file and name, and which checkpoints there are."""
    last = files.load_checkpoint(files.steps(run)[0])
    parts = ("model", "objective", "optimizers", "generators")
    tensors = {(part, name): one for part in parts for name, one in getattr(last, part).items()}
    return tensors, sorted(path.name for path in (run / files.FOLDER).iterdir())


def in_process(work: Callable[..., None], job: Job, *arguments: object) -> int:
    """The exit code of the first of its processes; the others end by themselves when that one does."""
    processes = started(work, job, *arguments)
    for process in processes:
        process.join(PATIENCE)
        assert process.exitcode is not None, f"process {process.pid} of {job.run} did not end"
    return int(processes[0].exitcode)


def started(work: Callable[..., None], job: Job, *arguments: object) -> list[Any]:
    """The processes of a job."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [
        CONTEXT.Process(target=_in_world, args=(work if rank == 0 else _trained, rank, port, job, *arguments))
        for rank in range(job.ranks)
    ]
    for process in processes:
        process.start()
    return processes


def _in_world(work: Callable[..., None], rank: int, port: int, job: Job, *arguments: Any) -> None:
    log = os.open(job.run.with_suffix(f".log{rank}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 2)
    torch.set_num_threads(1)
    if job.ranks > 1:
        world = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": job.ranks, "MASTER_PORT": port}
        os.environ |= {name: str(value) for name, value in world.items()} | {"MASTER_ADDR": "127.0.0.1"}
    work(job, *arguments[: 1 if work is _trained else None])


def _trained(job: Job, resume: bool) -> None:
    assert job.call(resume=resume)


def _begun_at(job: Job, moment: float) -> None:
    experiment = job.experiment(resume=False)
    time.sleep(max(0.0, moment - time.time()))
    assert train_run(experiment, quiet=True)


def _listed(job: Job, resume: bool, told: Path) -> None:
    found: list[Change] = []
    watch(job.run, lambda kind, name, _: found.append((kind, re.sub(r"[0-9a-f]*\d[0-9a-f]*", "#", Path(name).name))))
    assert job.call(resume=resume)
    told.write_text(json.dumps(found))


def _killed(job: Job, resume: bool, point: Point) -> None:
    passed = 0

    def act(_: str, name: str, flags: int) -> None:
        nonlocal passed
        if passed == point.number:
            if point.torn and flags & os.O_TRUNC:
                os.close(os.open(name, flags | os.O_CREAT, 0o644))
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)
        passed += 1

    watch(job.run, act)
    job.call(resume=resume)


def points_of(changes: Sequence[Change], *, every: bool) -> list[Point]:
    """Before every change, or before the first and the last of each kind; with and without a torn file."""
    places: dict[Change, list[int]] = {}
    for number, change in enumerate(changes):
        places.setdefault(change, []).append(number)
    ends = {number for found in places.values() for number in (found[0], found[-1])}
    chosen = [number for number in range(len(changes)) if every or number in ends]
    return [
        *(Point(number) for number in chosen),
        *(Point(number, torn=True) for number in chosen if changes[number][0] == "open"),
    ]
