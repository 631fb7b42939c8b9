"""Train the planned runs, several at once, each in a process of its own; existing runs are resumed.

In the folder of a comparison logs/RUN.log has the full error of a failed run; trainings.jsonl has one JSON object per
training that was started or resumed: {"run", "jobs", "threads", "resumed"}
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import torch

from regard.config import as_values
from regard.errors import RegardError
from regard.experiment import Experiment
from regard.reports.compare.plan import PlannedRun
from regard.reports.compare.progress import Watch
from regard.reports.compare.stages import Stage
from regard.runs import RunFolder
from regard.runs.folder import ENVIRONMENT, environment
from regard.training.interrupt import Interrupted, listening_to_signals

LOGS = "logs"
TRAININGS = "trainings.jsonl"
WORKER = (sys.executable, "-m", "regard.reports.compare.worker")
DONE, FAULT_CODE, INTERRUPTED_CODE = 0, 2, 75  # exit codes of a worker, as those of `regard train`
ERROR_MARK, WARNING = "error: ", "warning: "  # how its lines on stderr begin
TRACEBACK = "Traceback (most recent call last):"
KILL_AFTER = 30.0  # seconds that a process gets to end at once
FailedRuns = dict[str, str]  # run → why it has no result


class Conditions(NamedTuple):
    """The share of the machine that a training had."""

    jobs: int  # trainings at once
    threads: int  # of each


# Training


def train_all(runs: Sequence[PlannedRun], stages: Mapping[str, Stage], jobs: int, watch: Watch) -> FailedRuns:
    """Train the runs that have not finished; one that fails does not stop the others. Returns those that failed.

    Raises Interrupted after Ctrl-C or SIGTERM, when all processes have ended, and names those that could not save. A
    second Ctrl-C does not wait for them.
    """
    waiting = deque(run for run in runs if stages[run.name] != "finished")
    working, failed, unsaved = dict[Child, PlannedRun](), FailedRuns(), FailedRuns()
    conditions = Conditions(jobs, max(1, torch.get_num_threads() // jobs))
    with listening_to_signals() as interrupted:
        try:
            while working or (waiting and not interrupted()):
                while waiting and len(working) < jobs and not interrupted():
                    run = waiting.popleft()
                    working[_begin(run, conditions, watch, resume=stages[run.name] == "begun")] = run
                for child in [child for child in working if child.code is not None]:
                    run = working.pop(child)
                    _finish(run, child, unsaved if interrupted() else failed, watch, interrupted=interrupted())
                if interrupted():
                    for child in working:
                        child.ask_to_end()
                watch.draw()
                if working:
                    time.sleep(0.1)
        finally:
            for child in working:  # only after an error, or a second Ctrl-C
                child.end()
    if interrupted():
        lost = [f"{name}: {why}" for name, why in unsaved.items()]
        raise Interrupted(", but not ".join(["what was being trained is saved", *lost]))
    return failed


class Child:
    """A worker in a process group of its own, so that a Ctrl-C on the terminal does not reach it."""

    def __init__(self, experiment: Experiment, *, resume: bool, threads: int) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed when it has been read
        self._process = subprocess.Popen(
            WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            start_new_session=True,
        )
        self._stdin = cast(IO[bytes], self._process.stdin)
        with suppress(BrokenPipeError):  # a worker that died at once is reported by `code`
            self._stdin.write(json.dumps(job_of(experiment, resume=resume, threads=threads)).encode() + b"\n")
            self._stdin.flush()

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it works."""
        return self._process.poll()

    def ask_to_end(self) -> None:
        """Let the worker save and end. Unlike a signal, the end of stdin also reaches a process that just started."""
        with suppress(BrokenPipeError):
            self._stdin.close()

    def end(self) -> None:
        """End the worker at once; earlier saves stay."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(KILL_AFTER)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.ask_to_end()
        self._errors.close()

    def messages(self) -> list[str]:
        """Return its lines on stderr, once it has ended."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        self.ask_to_end()
        self._errors.close()
        return [line for line in lines if line.strip()]


def job_of(experiment: Experiment, *, resume: bool, threads: int) -> dict[str, Any]:
    """Return the job of a worker as JSON values. It holds the settings, as the config may be edited meanwhile."""
    return {"experiment": as_values(experiment), "resume": resume, "threads": threads, "parent": os.getpid()}


def _begin(run: PlannedRun, conditions: Conditions, watch: Watch, *, resume: bool) -> Child:
    watch.begin(run)
    values = {"run": run.name, **conditions._asdict(), "resumed": resume}
    with suppress(OSError), (run.path.parent / TRAININGS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(values) + "\n")
    return Child(run.experiment(), resume=resume, threads=conditions.threads)


def _finish(run: PlannedRun, child: Child, failed: FailedRuns, watch: Watch, *, interrupted: bool) -> None:
    """Report how a process has ended."""
    code, lines = child.code or DONE, child.messages()
    for line in lines:
        if line.startswith(WARNING):
            watch.warn(f"{run.name}: {line.removeprefix(WARNING)}")
    if code == DONE:
        _log(run).unlink(missing_ok=True)
        watch.end(run)
    elif code == INTERRUPTED_CODE and interrupted:
        watch.stop(run, "saved" if RunFolder(run.path).started else "ended before there was anything to save")
    else:
        faults = [line.removeprefix(ERROR_MARK) for line in lines if line.startswith(ERROR_MARK)]
        if code != FAULT_CODE or not faults:
            how = (
                f"was ended by signal {-code}" if code < 0 else "was stopped" if code == INTERRUPTED_CODE else "failed"
            )
            faults = [_crash(run, lines, how)]
        failed[run.name] = "\n".join(faults)
        watch.stop(run, f"failed: {faults[-1]}")


# Why a run has no result


def failure(run: PlannedRun, error: Exception) -> str:
    """Return the reason for a report; write the traceback to the log, unless it is an error of the user."""
    if isinstance(error, RegardError | OSError):
        return reason(error)
    return reason(error) + _logged(run, traceback.format_exception(error))


def failed_runs(failed: Mapping[str, str]) -> RegardError:
    """Return the error of runs without a result: a line for each line of its reason."""
    return RegardError("\n".join(f"{name}: {line}" for name, why in failed.items() for line in why.splitlines()))


def reason(error: Exception) -> str:
    """Return the text of an error; with its type unless it is an error of the user."""
    if isinstance(error, RegardError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'failed'}: {error.strerror or error}"
    return ": ".join(filter(None, [type(error).__name__, *str(error).splitlines()[:1]]))


def _crash(run: PlannedRun, lines: Sequence[str], how: str) -> str:
    """Return the reason of an unexpected end, from the last lines on stderr."""
    if not lines:
        return f"{run.path}: {how}"
    logged = _logged(run, [f"{line}\n" for line in lines])
    crashes = [place for place, line in enumerate(lines) if line == TRACEBACK]
    after = lines[crashes[-1] + 1 :] if crashes else lines[-1:]
    last = next((line for line in after if not line.startswith(" ")), lines[-1])
    return f"{last if crashes else f'{how}: {last}'}{logged}"


def _log(run: PlannedRun) -> Path:
    return run.path.parent / LOGS / f"{run.name}.log"


def _logged(run: PlannedRun, lines: Sequence[str]) -> str:
    """(see FILE), where it could be written."""
    log = _log(run)
    with suppress(OSError):  # a full disk may be the very reason
        log.parent.mkdir(exist_ok=True)
        log.write_text("".join(lines), encoding="utf-8", errors="replace")
        return f" (see {log})"
    return ""


# Conditions of trainings


def conditions_of(folder: Path) -> dict[str, list[Conditions]]:
    """run → the conditions of every call that trained it, since it was begun."""
    found = dict[str, list[Conditions]]()
    for line in _read(folder / TRAININGS).splitlines():
        with suppress(ValueError, KeyError, TypeError):  # killed while it was written
            values = json.loads(line)
            earlier = found.get(values["run"], []) if values["resumed"] else []
            found[values["run"]] = [*earlier, Conditions(int(values["jobs"]), int(values["threads"]))]
    return found


def environment_of(runs: Sequence[PlannedRun]) -> dict[str, Any]:
    """The machine that trained the runs, name → value; where runs differ, every value."""
    machines = list[dict[str, Any]]()
    for run in runs:
        with suppress(ValueError):
            values = json.loads(_read(run.path / ENVIRONMENT))
            machines += [values] if isinstance(values, dict) and values else []
    calls = conditions_of(runs[0].path.parent) if runs else {}
    found = {name: [one[name] for one in machines or [environment()] if name in one] for name in environment()}
    found["threads"] += [one.threads for run in runs for one in calls.get(run.name, [])]
    return {name: _range(values) for name, values in found.items() if values}


def condition_notes(runs: Sequence[PlannedRun], jobs: int) -> list[str]:
    """Return notes on the conditions of the runs' speeds. `jobs` is taken for runs that noted none."""
    calls = conditions_of(runs[0].path.parent) if runs else {}
    at_once = [one.jobs for run in runs for one in calls.get(run.name, [Conditions(jobs, 1)])]
    notes, threads = [], torch.get_num_threads()
    if max(at_once, default=1) > 1:
        count = _range(at_once)
        notes.append(f"{count} trainings ran at once: their wall times are of a shared machine.")
    if environment_of(runs).get("threads") != threads:
        count = "1 thread" if threads == 1 else f"{threads} threads"
        notes.append(f"The runs answered the test set one after another, with {count}.")
    return notes


def _read(file: Path) -> str:
    with suppress(OSError):
        return file.read_text(encoding="utf-8", errors="replace")
    return ""


def _range(values: Iterable[Any]) -> Any:
    """One value as it is; 1 to 4; cpu, NVIDIA H200"""
    each = list(dict.fromkeys(values))
    if len(each) == 1:
        return each[0]
    return f"{min(each)} to {max(each)}" if all(isinstance(one, int) for one in each) else ", ".join(map(str, each))
