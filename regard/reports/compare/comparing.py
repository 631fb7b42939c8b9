"""Trains several configs on one data set with several seeds, and tells which is better, and how surely."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from regard.config import write_whole
from regard.errors import ConfigError, RegardError
from regard.reports.compare.conditions import environment_of, notes_of
from regard.reports.compare.failing import Failed, failed_here
from regard.reports.compare.measure import Result, measured
from regard.reports.compare.pace import all_left, duration, place_of, run_left
from regard.reports.compare.page import page
from regard.reports.compare.plan import Planned
from regard.reports.compare.progress import Watch
from regard.reports.compare.runs import learns_the_same, make_ready, stage_of, stages_of
from regard.reports.compare.summary import Compared, finite, summarise
from regard.reports.compare.training import train_all
from regard.reports.compare.wanted import Prepared, Wanted, prepare
from regard.runs import RunFolder
from regard.training.interrupt import Interrupted

FORMAT = 1  # of FILE; it grows by fields that are new, and another number says that one has gone or means another thing
FILE, REPORT = "compare.json", "report.html"
Results = dict[str, list[Result]]  # contender → of its runs, as far as there are any


def compare_configs(wanted: Wanted, *, quiet: bool = False) -> Compared:
    """Trains what is not trained yet, measures what is not measured yet, writes compare.json and report.html.

    A run without a result is in `failed` and keeps no other from being told. Raises RegardError for what is wrong,
    before anything is trained where it can be known by then, and where no run has a result; Interrupted after Ctrl-C,
    when what was done is saved and the same call goes on with it.
    """
    plan = prepare(wanted)
    _open(wanted.folder)
    try:
        with RunFolder(wanted.folder).held():
            failed = _train(plan, wanted, quiet=quiet)
            results = _measure(plan, failed, quiet=quiet)
            return _written(plan, results, failed, wanted)
    except KeyboardInterrupt:
        raise Interrupted("stopped") from None


def _open(folder: Path) -> None:
    """Makes the folder, or sees that it is one of ours."""
    if folder.exists() and not (folder / FILE).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError("--run", f"'{folder}' exists and holds no comparison", "choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / FILE).exists():
        write_whole(folder / FILE, "{}")


def _train(plan: Prepared, wanted: Wanted, *, quiet: bool) -> Failed:
    stages = stages_of(plan.runs, plan.learnt)
    make_ready(plan.runs, stages)
    ended = [run for run in plan.runs if stages[run.name] == "finished"]
    todo = [run for run in plan.runs if stages[run.name] != "finished"]
    watch = Watch(todo, wanted.jobs, ended, quiet=quiet)
    if wanted.jobs > (cores := os.cpu_count() or 1):
        watch.warn(f"--jobs {wanted.jobs}: there are {cores} cores, so that many trainings wait for each other")
    for names in learns_the_same(plan.contenders):
        watch.warn(f"{', '.join(names)}: the same model is trained for each, as they differ in its use alone")
    watch.say(
        f"comparing {len(plan.contenders)} systems with {wanted.seeds} seeds: {len(plan.runs)} runs"
        + (f", {len(ended)} of them finished" if ended else "")
        + (f", {wanted.jobs} at once" if wanted.jobs > 1 else "")
        + f", in {wanted.folder}"
    )
    if todo:
        watch.say(_expected(todo, wanted.jobs))
    return train_all(plan.runs, stages, wanted.jobs, watch)


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
        whole = all_left([], [run_left(run.limits(), place_of(run.path)) for run in todo], jobs) or 0.0
        return (
            f"{told}, at most {_range(minutes)} min each: about {duration(whole)} in all, or less where patience ends"
        )
    return f"{told}; how long that takes is told once the first is under way"


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:,g}" if low == high else f"{low:,g} to {high:,g}"


def _measure(plan: Prepared, failed: Failed, *, quiet: bool) -> Results:
    """One after another, so that no speed is that of a machine which does something else beside.

    Those that cannot be measured join the failed.
    """
    watch = Watch((), 1, quiet=quiet)
    results: Results = {}
    for number, planned in enumerate(plan.runs, start=1):
        if planned.name in failed:
            continue
        try:
            stage_of(planned, plan.learnt)  # whatever became of its folder meanwhile, it is what was planned
            found = measured(planned, plan.judge)
        except Exception as error:  # hours of training must not be lost for one run that is too large to be decoded
            failed[planned.name] = failed_here(planned, error)
            watch.warn(f"test part, {planned.name} failed: {failed[planned.name]}")
            continue
        results.setdefault(planned.contender.name, []).append(found)
        pairs = zip(plan.judge.metrics, found.scores, strict=True)
        scores = " · ".join(f"{metric.name} {score:.2f}" for metric, score in pairs)
        watch.say(f"test part, run {number} of {len(plan.runs)}, {planned.name}: {scores}")
    return results


def _written(plan: Prepared, results: Results, failed: Failed, wanted: Wanted) -> Compared:
    """Puts the figures together and keeps them."""
    trained = [run for run in plan.runs if run.name not in failed]
    baseline, notes = _baseline(plan, results, failed)
    about: dict[str, Any] = {
        "format": FORMAT,
        "command": wanted.command,
        "date": time.strftime("%Y-%m-%d"),
        "version": version("regard"),
        "environment": environment_of(trained),
        "notes": [*notes, *notes_of(trained, wanted.jobs)],
    }
    compared = summarise(plan.contenders, results, plan.judge, baseline, failed, about)
    write_whole(wanted.folder / FILE, json.dumps(finite(compared.values()), indent=1, ensure_ascii=False))
    write_whole(wanted.folder / REPORT, page(compared))
    return compared


def _baseline(plan: Prepared, results: Results, failed: Mapping[str, str]) -> tuple[str, list[str]]:
    """Whom the others are compared with, and what is to be said of that."""
    if plan.baseline in results:
        return plan.baseline, []
    others = [one.name for one in plan.contenders if one.name in results]
    if not others:
        raise RegardError("\n".join(f"{name}: {line}" for name, why in failed.items() for line in why.splitlines()))
    return others[0], [f"No run of {plan.baseline} has a result: the others are compared with {others[0]} instead."]
