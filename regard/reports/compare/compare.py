"""Train several configs on one data set with several seeds; report the best, and the significance."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from regard.config import write_atomically
from regard.errors import ConfigError, RegardError, nearest
from regard.reports.compare.measure import (
    Evaluator,
    Gold,
    Result,
    bag_of_words_tables,
    check_same_evaluation,
    measure_run,
)
from regard.reports.compare.page import comparison_page
from regard.reports.compare.plan import (
    Budget,
    Contender,
    PlannedRun,
    contenders_of,
    implied_differences,
    runs_of,
    seeds_of,
)
from regard.reports.compare.progress import Watch, duration, position_of, seconds_left_of_all, seconds_to_limit
from regard.reports.compare.stages import (
    TextOrigins,
    check_new,
    common_test,
    fold_tests,
    prepare_folders,
    same_models,
    stage_of,
    stages_of,
)
from regard.reports.compare.summary import Bags, Compared, finite, summarise
from regard.reports.compare.tables import colour_note, sections
from regard.reports.compare.train import FailedRuns, condition_notes, environment_of, failed_runs, failure, train_all
from regard.reports.report import Report
from regard.runs import RunFolder
from regard.training.interrupt import Interrupted

_FORMAT = 1  # of FILE: new fields leave it as it is; it grows where one goes or changes its meaning
_FILE, REPORT_PAGE = "compare.json", "report.html"
Results = dict[str, list[Result]]  # contender → of its runs, as far as there are any


@dataclass(frozen=True)
class Request:
    """Options of a comparison."""

    configs: Sequence[Path]
    changes: Sequence[str] = ()  # to all of them
    grids: Sequence[str] = ()  # KEY=VALUE,VALUE
    folder: Path = Path("runs/compare")
    seeds: int | None = None  # trainings of each; None: one for every fold, or 3
    budget: Budget = field(default_factory=Budget)
    baseline: str | None = None  # None: the first
    gold: Gold | None = None
    jobs: int = 1  # trainings at once
    any_data: bool = False  # they may learn from different texts
    command: str = ""  # for the report


class ComparisonPlan(NamedTuple):
    """Plan of a comparison, before any training."""

    contenders: list[Contender]
    runs: list[PlannedRun]
    baseline: str
    evaluator: Evaluator
    origins: TextOrigins


class ComparisonReport(NamedTuple):
    """Result of `regard.compare`."""

    folder: Path  # of the runs, compare.json and report.html
    found: Compared  # rows of systems: scores, intervals, p-values, time, speed
    seconds: float  # wall-clock time, training included

    def __str__(self) -> str:
        tables = [one.table.terminal() for one in sections(self.found)]
        failed = [f"{name} failed: {why}" for name, why in self.found.failed.items()]
        time_spent = f"{len(self.found.rows)} systems in {duration(self.seconds)}"
        return "\n".join([*tables[:1], *failed, f"{time_spent}; report: {self.folder / REPORT_PAGE}"])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The tables of the report, for a notebook."""
        failed = [f"{name} failed: {why}" for name, why in self.found.failed.items()]
        summary = "\n".join([*failed, colour_note(self.found), f"report: {self.folder / REPORT_PAGE}"])
        return Report([one.table for one in sections(self.found)], None, summary, heading=self.found.title).html()

    def values(self) -> dict[str, Any]:
        """Return all figures as JSON values, as compare.json has them."""
        return dict(finite(self.found.values()))


def compare(
    configs: Sequence[PathLike[str] | str],
    changes: Sequence[str] = (),
    *,
    run: PathLike[str] | str | None = None,
    grids: Sequence[str] = (),
    seeds: int | None = None,
    minutes: float | None = None,
    updates: int | None = None,
    baseline: str | None = None,
    any_data: bool = False,
    jobs: int = 1,
    quiet: bool = False,
) -> ComparisonReport:
    """Train configs with several seeds on the same data, and compare their scores with the baseline's.

    >>> regard.compare(["a.yaml"], grids=["model.attention.score=dot,additive"], minutes=5, seeds=3)

    Args:
        configs: Config files.
        changes: Settings of all of them, as on the command line.
        run: Folder of the runs and the report; by default runs/compare-… The same call resumes there.
        grids: KEY=A,B: every value of a setting, crossed with the other grids.
        seeds: Trainings of each config; by default 3, or one for each fold.
        minutes: Longest training of a run, in minutes.
        updates: Most updates of a run.
        baseline: Name of the system that the others are compared with; by default the first.
        jobs: Trainings at a time.
        any_data: Allow configs with different training texts.
        quiet: Print no progress.

    Returns:
        Scores with 95 % intervals, differences with p-values (paired bootstrap), sizes, speeds and time.

    Raises:
        ConfigError: A config is wrong, or the systems cannot be compared.
        DataError: A text cannot be used.
        RegardError: No run has a result.
    """
    begun, paths = time.perf_counter(), [Path(one) for one in configs]
    if not paths:
        raise ConfigError("configs", "must be given", 'compare(["a.yaml", "b.yaml"])')
    folder = Path("runs") / f"compare-{paths[0].stem}" if run is None else Path(run)
    budget = Budget(minutes, updates)
    request = Request(paths, changes, grids, folder, seeds, budget, baseline, None, jobs, any_data)
    found = compare_configs(request, quiet=quiet)
    return ComparisonReport(folder, found, time.perf_counter() - begun)


def compare_configs(request: Request, *, quiet: bool = False) -> Compared:
    """Train and measure runs that are not yet trained or measured; write compare.json and report.html.

    A run without a result is in `failed`; the others are compared all the same. Raises RegardError for wrong options,
    before training where possible, and where no run has a result; Interrupted after Ctrl-C: finished work is saved, and
    the same call resumes.
    """
    plan = prepare(request)
    _open(request.folder)
    try:
        with RunFolder(request.folder).held():
            failed = _train(plan, request, quiet=quiet)
            results = _measure(plan, failed, quiet=quiet)
            return _write(plan, results, failed, request, _bags(plan, quiet=quiet))
    except KeyboardInterrupt:
        raise Interrupted("stopped") from None


def prepare(request: Request) -> ComparisonPlan:
    """Check a request and its texts. Raises ConfigError with all wrong options, DataError for wrong texts."""
    contenders = contenders_of(request.configs, request.changes, request.grids, request.budget)
    names = [one.name for one in contenders]
    baseline = names[0] if request.baseline is None else request.baseline
    if baseline not in names:
        raise ConfigError("--baseline", f"there is no '{baseline}'", nearest(baseline, names))
    check_same_evaluation(contenders)
    origins = TextOrigins()
    test = common_test(contenders, origins, any_data=request.any_data)
    for one in contenders:
        origins.of(one)  # as the texts are now: a run is trained later, and compared with this
    seeds = seeds_of(contenders, request.seeds)
    evaluator = Evaluator.of(contenders, test, request.gold, fold_tests(contenders, seeds))
    return ComparisonPlan(contenders, runs_of(contenders, seeds, request.folder), baseline, evaluator, origins)


def _open(folder: Path) -> None:
    """Create the folder. Raises ConfigError where it holds anything but a comparison."""
    if folder.exists() and not (folder / _FILE).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError("--run", f"'{folder}' exists and holds no comparison", "choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / _FILE).exists():
        write_atomically(folder / _FILE, "{}")


def _train(plan: ComparisonPlan, request: Request, *, quiet: bool) -> FailedRuns:
    stages = prepare_folders(plan.runs, stages_of(plan.runs, plan.origins))
    ended = [run for run in plan.runs if stages[run.name] == "finished"]
    waiting = [run for run in plan.runs if stages[run.name] != "finished"]
    watch = Watch(waiting, request.jobs, ended, quiet=quiet)
    if request.jobs > (cores := os.cpu_count() or 1):
        watch.warn(f"--jobs {request.jobs}: there are {cores} cores, so that many trainings wait for each other")
    for names in same_models(plan.contenders):
        watch.warn(f"{', '.join(names)}: the same model is trained for each, as they differ in its use alone")
    watch.say(
        f"comparing {len(plan.contenders)} systems, "
        f"{'folds' if plan.evaluator.folds else 'seeds'}: {plan.runs[-1].seed}, runs: {len(plan.runs)}"
        + (f", {len(ended)} of them finished" if ended else "")
        + (f", {request.jobs} at once" if request.jobs > 1 else "")
        + f", in {request.folder}"
    )
    for line in implied_differences(plan.contenders):
        watch.say(f"also different: {line}")
    if waiting:
        check_new(plan.runs, stages)
        watch.say(_expected(waiting, request.jobs))
    return train_all(plan.runs, stages, request.jobs, watch)


def _expected(waiting: Sequence[PlannedRun], jobs: int) -> str:
    """Return the number of trainings, and their duration if the limits give one."""
    limits = [run.limits() for run in waiting]
    updates, minutes, core_minutes = (
        [one[name] for one in limits] for name in ("max_updates", "max_minutes", "max_core_minutes")
    )
    line = f"to train: {len(waiting)} runs"
    if all(updates):
        line += f" of {_range(updates)} updates"
    if all(core_minutes):
        line += f", at most {_range(core_minutes)} min of processor time each"
    if not all(minutes):
        return f"{line}; an estimate of the time follows once the first is under way"
    left = [seconds_to_limit(run.limits(), position_of(run.path)) for run in waiting]
    time_left = duration(seconds_left_of_all([], left, jobs) or 0.0)
    return f"{line}, at most {_range(minutes)} min each: about {time_left} in all, or less where patience ends"


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:,g}" if low == high else f"{low:,g} to {high:,g}"


def _measure(plan: ComparisonPlan, failed: FailedRuns, *, quiet: bool) -> Results:
    """Measure one run after another, so that speeds are those of an idle machine.

    Runs that cannot be measured are added to the failed.
    """
    watch, results = Watch((), 1, quiet=quiet), Results()
    for number, run in enumerate(plan.runs, start=1):
        if run.name in failed:
            continue
        try:
            stage_of(run, plan.origins)  # raises where its folder has become another run's meanwhile
            found = measure_run(run, plan.evaluator.of_run(run))
        except Exception as error:  # hours of training must not be lost for one run that is too large to be decoded
            failed[run.name] = failure(run, error)
            watch.warn(f"test set, {run.name} failed: {failed[run.name]}")
            continue
        results.setdefault(run.contender.name, []).append(found)
        pairs = zip(plan.evaluator.metrics, found.scores, strict=True)
        scores = " · ".join(f"{metric.name} {score:.2f}" for metric, score in pairs)
        watch.say(f"test set, run {number} of {len(plan.runs)}, {run.name}: {scores}")
    return results


def _bags(plan: ComparisonPlan, *, quiet: bool) -> Bags:
    """Return the statistics of a bag of words on the same texts, by fold, or of seed 1; {} for other tasks."""
    firsts = {run.seed: run for run in reversed(plan.runs)}
    chosen = sorted(firsts) if plan.evaluator.folds else [1]
    try:
        found = {seed: bag_of_words_tables(firsts[seed], plan.evaluator.of_run(firsts[seed])) for seed in chosen}
    except (RegardError, MemoryError) as error:  # hours of training are not lost for a baseline
        Watch((), 1, quiet=quiet).warn(f"bag of words: {error}")
        return {}
    return {seed: tables for seed, tables in found.items() if tables is not None}


def _write(plan: ComparisonPlan, results: Results, failed: FailedRuns, request: Request, bags: Bags) -> Compared:
    """Summarise the figures and write the files."""
    trained = [run for run in plan.runs if run.name not in failed]
    baseline, notes = _baseline(plan, results, failed)
    about = {
        "format": _FORMAT,
        "command": request.command,
        "date": time.strftime("%Y-%m-%d"),
        "version": version("regard"),
        "environment": environment_of(trained),
        "notes": [*notes, *condition_notes(trained, request.jobs)],
    }
    compared = summarise(plan.contenders, results, plan.evaluator, baseline, failed, about, bags)
    write_atomically(request.folder / _FILE, json.dumps(finite(compared.values()), indent=1, ensure_ascii=False))
    write_atomically(request.folder / REPORT_PAGE, comparison_page(compared))
    return compared


def _baseline(plan: ComparisonPlan, results: Results, failed: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the baseline; without a result of it, the first system with one, and a note on that."""
    if plan.baseline in results:
        return plan.baseline, []
    others = [one.name for one in plan.contenders if one.name in results]
    if not others:
        raise failed_runs(failed)
    return others[0], [f"No run of {plan.baseline} has a result: the others are compared with {others[0]} instead."]
