"""Under what conditions runs were trained: the machine, and the share of it that each training had.

trainings.jsonl in the folder of a comparison has one JSON object per training that was begun or resumed:
{"run", "jobs", "threads", "resumed"}
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard.reports.compare.plan import PlannedRun
from regard.runs.folder import ENVIRONMENT, environment

TRAININGS = "trainings.jsonl"


class Conditions(NamedTuple):
    """The share of the machine that a training had."""

    jobs: int  # trainings at once
    threads: int  # of each


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
    """What the speeds of runs rest on. `jobs` is taken for runs that noted none."""
    calls = conditions_of(runs[0].path.parent) if runs else {}
    at_once = [one.jobs for run in runs for one in calls.get(run.name, [Conditions(jobs, 1)])]
    notes, threads = [], torch.get_num_threads()
    if max(at_once, default=1) > 1:
        count = _range(at_once)
        notes.append(f"{count} trainings ran at once: what the clock on the wall tells of them is of a shared machine.")
    if environment_of(runs).get("threads") != threads:
        count = "1 thread" if threads == 1 else f"{threads} threads"
        notes.append(f"The test part was worked on by one run after another, with {count}.")
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
