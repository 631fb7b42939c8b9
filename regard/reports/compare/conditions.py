"""Under what conditions the runs of a comparison were trained: on what, with how many threads, how many at once.

TRAININGS   one JSON object a training that was begun, or gone on with: {"run", "jobs", "threads", "resumed"}
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard.reports.compare.plan import Planned
from regard.runs.folder import ENVIRONMENT, environment

TRAININGS = "trainings.jsonl"  # in the folder of a comparison


class Conditions(NamedTuple):
    """Of one training."""

    jobs: int  # trainings at once
    threads: int  # of each


def shared(jobs: int) -> Conditions:
    """Each gets its share of the threads that this process may use."""
    return Conditions(jobs, max(1, torch.get_num_threads() // jobs))


def note(planned: Planned, conditions: Conditions, *, resumed: bool) -> None:
    """That a training begins. It begins even where that cannot be written."""
    told = {"run": planned.name, **conditions._asdict(), "resumed": resumed}
    with suppress(OSError), (planned.path.parent / TRAININGS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")


def noted(folder: Path) -> dict[str, list[Conditions]]:
    """run → those of every call that trained it, since it was begun."""
    found = dict[str, list[Conditions]]()
    for line in _read(folder / TRAININGS).splitlines():
        with suppress(ValueError, KeyError, TypeError):  # killed while it was written
            told = json.loads(line)
            conditions = Conditions(int(told["jobs"]), int(told["threads"]))
            found[told["run"]] = [*(found.get(told["run"], []) if told["resumed"] else []), conditions]
    return found


def environment_of(runs: Sequence[Planned]) -> dict[str, Any]:
    """Name → value of the machine that trained them; where it was not the same for all, every one of them."""
    told = [known for known in map(_environment, runs) if known] or [environment()]
    calls = noted(runs[0].path.parent) if runs else {}
    found = {name: [one[name] for one in told if name in one] for name in environment()}
    found["threads"] += [one.threads for run in runs for one in calls.get(run.name, [])]
    return {name: _together(values) for name, values in found.items() if values}


def notes_of(runs: Sequence[Planned], jobs: int) -> list[str]:
    """What their speeds rest on. Of runs that an older version trained, `jobs` is taken to be as it is now."""
    calls = noted(runs[0].path.parent) if runs else {}
    at_once = [one.jobs for run in runs for one in calls.get(run.name, [Conditions(jobs, 1)])]
    notes = []
    if max(at_once, default=1) > 1:
        told = _together(at_once)
        notes.append(f"{told} trainings ran at once: what the clock on the wall tells of them is of a shared machine.")
    threads = torch.get_num_threads()
    if environment_of(runs).get("threads") != threads:
        told = "1 thread" if threads == 1 else f"{threads} threads"
        notes.append(f"The test part was worked on by one run after another, with {told}.")
    return notes


def _environment(run: Planned) -> dict[str, Any]:
    """As the run noted it when it began; nothing of one that has not."""
    with suppress(ValueError):
        told = json.loads(_read(run.path / ENVIRONMENT))
        return told if isinstance(told, dict) else {}
    return {}


def _read(file: Path) -> str:
    with suppress(OSError):
        return file.read_text(encoding="utf-8", errors="replace")
    return ""


def _together(values: Iterable[Any]) -> Any:
    """One value as it is; 1 to 4; cpu, NVIDIA H200"""
    each = list(dict.fromkeys(values))
    if len(each) == 1:
        return each[0]
    if all(isinstance(value, int) for value in each):
        return f"{min(each)} to {max(each)}"
    return ", ".join(map(str, each))
