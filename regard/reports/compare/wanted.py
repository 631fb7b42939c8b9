"""What is to be compared, and all that can be known, or wrong, before anything is trained."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from regard.config import plain
from regard.errors import ConfigError, nearest
from regard.registry import Choice
from regard.reports.compare.data import Gold, Learnt, common_test
from regard.reports.compare.measure import Judge
from regard.reports.compare.plan import Budget, Contender, Planned, contenders_of, runs_of
from regard.tasks import TASKS


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


class Prepared(NamedTuple):
    """What is known before anything is trained."""

    contenders: list[Contender]
    runs: list[Planned]
    baseline: str
    judge: Judge
    learnt: Learnt


def prepare(wanted: Wanted) -> Prepared:
    """Raises ConfigError of all that is wrong with it, DataError for what is wrong with its texts."""
    contenders = contenders_of(wanted.configs, wanted.changes, wanted.grids, wanted.budget)
    names = [one.name for one in contenders]
    baseline = names[0] if wanted.baseline is None else wanted.baseline
    if baseline not in names:
        raise ConfigError("--baseline", f"there is no '{baseline}'", nearest(baseline, names))
    _judged_alike(contenders)
    learnt = Learnt()
    test = common_test(contenders, learnt, any_data=wanted.any_data)
    for one in contenders:
        learnt.of(one)  # as the texts are now: a run is trained later, and compared with this
    judge = Judge.of(contenders[0].experiment, test, wanted.gold)._replace(steering=_steering(contenders))
    return Prepared(contenders, runs_of(contenders, wanted.seeds, wanted.folder), baseline, judge, learnt)


def _judged_alike(contenders: Sequence[Contender]) -> None:
    """Raises ConfigError where they name different metrics, or the same with other settings."""
    first, *others = contenders
    ours = first.experiment.evaluation.metrics
    for other in others:
        theirs = other.experiment.evaluation.metrics
        if plain(theirs) != plain(ours):
            problem = f"'{other.name}' is to be judged by {_named(theirs)}, '{first.name}' by {_named(ours)}"
            more = " of other settings" if _named(theirs) == _named(ours) else ""
            raise ConfigError(
                "evaluation.metrics", problem + more, f"the same for all: evaluation.metrics={_named(ours)}"
            )


def _named(metrics: Sequence[Choice]) -> str:
    """As on the command line."""
    return f"[{', '.join(metric.name for metric in metrics)}]"


def _steering(contenders: Sequence[Contender]) -> str:
    """The dev score of the curves: what steers all; else what steers unless the settings say otherwise, which is in
    every log.
    """
    metrics = {one.experiment.training.metric for one in contenders}
    task: Any = TASKS[contenders[0].experiment.task.name]
    return metrics.pop() if len(metrics) == 1 else str(task.metric)
