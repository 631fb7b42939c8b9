"""What there is of a planned run already, and whether it may be gone on with."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from regard.config import plain
from regard.data.streams import epoch_of, saved_place
from regard.errors import ConfigError, Fault
from regard.experiment import SETTINGS_FILE, Experiment
from regard.experiment.reading import LIMITS
from regard.reports.compare.data import Learnt, with_settings
from regard.reports.compare.grid import flattened
from regard.reports.compare.plan import Contender, Planned
from regard.runs import RunFolder
from regard.training import checkpoint as files

Stage = Literal["new", "half", "begun", "finished"]  # half: killed before its settings were written
OPEN = ("decoding", "evaluation", "device")  # settings that a trained model leaves open
ELSEWHERE = ("run", "data")  # by content: a folder may be moved
HINT = "another --run FOLDER, or delete what is there"


def stage_of(planned: Planned, learnt: Learnt) -> Stage:
    """Raises ConfigError where the folder holds something else, or a run of other settings or texts.

    Limits may change as long as the run has not gone beyond them; with other limits than it had, it has not finished.
    """
    folder, wanted = RunFolder(planned.path), planned.experiment()
    if not folder.exists:
        return "new"
    if not (folder.path / SETTINGS_FILE).is_file():
        return _half(folder)
    before = folder.experiment()
    changed = _changed(before, wanted)
    limits = [name for name in changed if name.removeprefix("training.") in LIMITS]
    done = _done(folder) if limits else {}
    faults = [
        Fault(name, f"was {_said(then)} when it was trained, is {_said(now)} now", HINT)
        for name, (then, now) in changed.items()
        if name.partition(".")[0] not in OPEN and not (name in limits and _holds(now, done[name]))
    ]
    noted = folder.origins()
    if noted and not faults and _texts(before, noted) != learnt.of(planned.contender):
        faults.append(Fault("data", "was trained on other texts", HINT))
    if faults:
        raise ConfigError.of(faults)
    return "finished" if folder.finished and not limits else "begun"


def stages_of(runs: Sequence[Planned], learnt: Learnt) -> dict[str, Stage]:
    """Of all, by name. Raises one ConfigError of all that is wrong with any."""
    stages, faults = dict[str, Stage](), dict[Fault, list[str]]()
    for planned in runs:
        try:
            stages[planned.name] = stage_of(planned, learnt)
        except ConfigError as error:
            for fault in error.faults:
                faults.setdefault(fault, []).append(str(planned.path))
    if faults:
        raise ConfigError.of(
            fault._replace(place=f"{some[0]}{f' and {len(some) - 1} more' if some[1:] else ''}: {fault.place}")
            for fault, some in faults.items()
        )
    return stages


def make_ready(runs: Sequence[Planned], stages: Mapping[str, Stage]) -> None:
    """What is there of them fits what comes next: half a run is gone; one that has finished is used with the settings
    that a trained model leaves open as they are now.
    """
    for planned in runs:
        if stages[planned.name] == "half":
            shutil.rmtree(planned.path)
        elif stages[planned.name] == "finished":
            RunFolder(planned.path).keep(planned.experiment())


def learns_the_same(contenders: Iterable[Contender]) -> list[list[str]]:
    """Names of those that differ in nothing but what a trained model leaves open."""
    found: list[tuple[dict[str, Any], list[str]]] = []
    for one in contenders:
        learnt = {name: value for name, value in plain(one.experiment).items() if name not in (*OPEN, "run")}
        for known, names in found:
            if known == learnt:
                names.append(one.name)
                break
        else:
            found.append((learnt, [one.name]))
    return [names for _, names in found if len(names) > 1]


def _half(folder: RunFolder) -> Stage:
    if folder.path.is_dir() and all(path.name.startswith(".") for path in folder.path.iterdir()):
        return "half"
    raise ConfigError("run", "is no run folder, but a run of this comparison would go there", HINT)


def _changed(before: Experiment, after: Experiment) -> dict[str, tuple[Any, Any]]:
    """setting → (before, after), where they differ."""
    old, new = (dict(flattened(_told(one))) for one in (before, after))
    return {name: (old.get(name), new.get(name)) for name in {**old, **new} if old.get(name) != new.get(name)}


def _told(experiment: Experiment) -> dict[str, Any]:
    return {name: value for name, value in plain(experiment).items() if name not in ELSEWHERE}


def _texts(experiment: Experiment, noted: dict[str, Any]) -> dict[str, Any]:
    """What a run noted of its texts, as `Learnt` tells it."""
    share = experiment.data.dev_share if "dev" not in noted else 0.0
    return with_settings(noted, share, experiment.data.max_length)


def _done(folder: RunFolder) -> dict[str, float]:
    """How far a run has come, by the setting that limits it."""
    state = files.latest_valid(folder.path, training=False)[0].state if folder.started else {}
    found = {"max_updates": state.get("update", 0), "max_epochs": epoch_of(saved_place(state))}
    spent = {"max_minutes": state.get("seconds", 0.0) / 60, "max_core_minutes": state.get("core_seconds", 0.0) / 60}
    return {f"training.{name}": value for name, value in {**found, **spent}.items()}


def _holds(limit: float | None, done: float) -> bool:
    """None is without limit."""
    return limit is None or done <= limit


def _said(value: Any) -> str:
    return "nothing" if value is None else str(value)
