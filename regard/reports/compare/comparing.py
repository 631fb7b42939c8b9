"""Trains several configs on one data set with several seeds, and tells which is better, and how surely."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from regard.config import write_whole
from regard.errors import CheckpointError, ConfigError, nearest
from regard.reports.compare.data import Gold, Learnt, common_test
from regard.reports.compare.measure import Judge, Result, measured
from regard.reports.compare.page import page
from regard.reports.compare.plan import Budget, Contender, Planned, contenders_of, runs_of
from regard.reports.compare.progress import Watch
from regard.reports.compare.runs import stages_of
from regard.reports.compare.summary import Compared, finite, summarise
from regard.reports.compare.time import all_left, duration
from regard.reports.compare.training import Failed, train_all
from regard.runs import RunFolder
from regard.runs.folder import environment
from regard.training.interrupt import Interrupted

FORMAT = 1
FILE, REPORT = "compare.json", "report.html"


@dataclass(frozen=True)
class Wanted:
    """What is to be compared, and how."""

    configs: Sequence[Path]
    changes: Sequence[str] = ()  # to all of them
    grids: Sequence[str] = ()  # KEY=VALUE,VALUE
    folder: Path = Path("runs/compare")
    seeds: int = 3
    budget: Budget = field(default_factory=Budget)
    baseline: str | None = None  # None: the first
    gold: Gold | None = None
    jobs: int = 1  # trainings at once
    any_data: bool = False  # they may learn from different texts
    command: str = ""  # to tell in the report


def compare_configs(wanted: Wanted, *, quiet: bool = False) -> Compared:
    """Trains what is not trained yet, measures what is not measured yet, writes compare.json and report.html.

    Raises RegardError for what is wrong, before anything is trained where it can be known by then; Interrupted after
    Ctrl-C, when what was done is saved and the same call goes on with it.
    """
    contenders = contenders_of(wanted.configs, wanted.changes, wanted.grids, wanted.budget)
    names = [one.name for one in contenders]
    baseline = names[0] if wanted.baseline is None else wanted.baseline
    if baseline not in names:
        raise ConfigError("--baseline", f"there is no '{baseline}'", nearest(baseline, names))
    learnt = Learnt()
    judge = Judge.of(contenders[0].experiment, common_test(contenders, learnt, any_data=wanted.any_data), wanted.gold)
    folder = wanted.folder
    runs = runs_of(contenders, wanted.seeds, folder)
    _open(folder, runs)
    try:
        with RunFolder(folder).held():
            failed = _train(runs, learnt, wanted, folder, quiet=quiet)
            results, failed = _measure(runs, judge, failed, quiet=quiet)
            return _told(contenders, results, judge, baseline, failed, wanted, folder)
    except KeyboardInterrupt:
        raise Interrupted("stopped") from None


def _open(folder: Path, runs: Sequence[Planned]) -> None:
    """Makes the folder, or sees that it is one of ours."""
    if folder.exists() and not (folder / FILE).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError("--run", f"'{folder}' exists and holds no comparison", "choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / FILE).exists():
        planned = {"format": FORMAT, "planned": [run.name for run in runs]}
        write_whole(folder / FILE, json.dumps(planned, indent=1))


def _train(runs: Sequence[Planned], learnt: Learnt, wanted: Wanted, folder: Path, *, quiet: bool) -> Failed:
    stages = stages_of(runs, learnt)
    finished = sum(stage == "finished" for stage in stages.values())
    watch = Watch(len(runs), finished, wanted.jobs, quiet=quiet)
    systems = len({run.contender.name for run in runs})
    watch.say(
        f"comparing {systems} systems with {wanted.seeds} seeds: {len(runs)} runs"
        + (f", {finished} of them finished" if finished else "")
        + (f", {wanted.jobs} at once" if wanted.jobs > 1 else "")
        + f", in {folder}"
    )
    todo = [run for run in runs if stages[run.name] != "finished"]
    if todo:
        watch.say(_expected(todo, wanted.jobs))
    return train_all(runs, stages, wanted.jobs, watch)


def _expected(todo: Sequence[Planned], jobs: int) -> str:
    """How much there is to do, and how long that takes where the limits tell."""
    limits = [run.limits() for run in todo]
    updates = [one["max_updates"] for one in limits]
    minutes = [one["max_minutes"] for one in limits]
    core_minutes = [one["max_core_minutes"] for one in limits]
    told = f"to train: {len(todo)} runs"
    if all(updates):
        told += f" of {_range(updates)} updates"
    if all(core_minutes):
        told += f", at most {_range(core_minutes)} min of processor time each"
    if all(minutes):
        whole = all_left([], len(todo), sum(minutes) / len(minutes) * 60, jobs) or 0.0
        return (
            f"{told}, at most {_range(minutes)} min each: about {duration(whole)} in all, or less where patience ends"
        )
    return f"{told}; how long that takes is told once the first is under way"


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:,g}" if low == high else f"{low:,g} to {high:,g}"


def _measure(
    runs: Sequence[Planned], judge: Judge, failed: Failed, *, quiet: bool
) -> tuple[dict[str, list[Result]], Failed]:
    """One after another, so that no speed is that of a machine which does something else beside."""
    watch = Watch(len(runs), 0, 1, quiet=quiet)
    results: dict[str, list[Result]] = {}
    failed = dict(failed)
    for number, planned in enumerate(runs, start=1):
        if planned.name in failed:
            continue
        try:
            found = measured(planned, judge)
        except CheckpointError as error:
            failed[planned.name] = str(error)
            continue
        results.setdefault(planned.contender.name, []).append(found)
        scores = " · ".join(
            f"{metric.name} {score:.2f}" for metric, score in zip(judge.metrics, found.scores, strict=True)
        )
        watch.say(f"test part, run {number} of {len(runs)}, {planned.name}: {scores}")
    return results, failed


def _told(
    contenders: Sequence[Contender],
    results: dict[str, list[Result]],
    judge: Judge,
    baseline: str,
    failed: Failed,
    wanted: Wanted,
    folder: Path,
) -> Compared:
    """Puts the figures together and writes them."""
    if not results.get(baseline):
        lines = "\n".join(failed.values())
        raise ConfigError(
            "--baseline", f"no run of '{baseline}' could be trained, so there is nothing to compare with:\n{lines}"
        )
    notes = []
    if wanted.jobs > 1:
        notes.append(f"{wanted.jobs} trainings ran at once: their tokens/s and minutes are those of a shared machine.")
    about: dict[str, Any] = {
        "format": FORMAT,
        "command": wanted.command,
        "date": time.strftime("%Y-%m-%d"),
        "version": version("regard"),
        "environment": environment(),
        "notes": notes,
    }
    compared = summarise(contenders, results, judge, baseline, failed, about)
    write_whole(folder / FILE, json.dumps(finite(compared.values()), indent=1, ensure_ascii=False))
    write_whole(folder / REPORT, page(compared))
    return compared
