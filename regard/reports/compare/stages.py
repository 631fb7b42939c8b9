"""How far each run of a comparison is. What is there is gone on with, if its settings and texts are the same."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from regard.config import as_values
from regard.data.streams import epoch_of, saved_place
from regard.errors import ConfigError, Fault
from regard.experiment import OPEN, SETTINGS_FILE, Experiment
from regard.experiment.reading import LIMITS
from regard.reports.compare.grid import flat_settings
from regard.reports.compare.plan import Contender, PlannedRun
from regard.reports.compare.shared_texts import TextOrigins, with_settings
from regard.runs import RunFolder
from regard.runs.texts import held_out
from regard.training import checkpoint as files

BY_CONTENT = ("run", "data")  # compared by the texts themselves: a folder may be moved
HINT = "another --run FOLDER, or delete what is there"
Stage = Literal["new", "begun", "finished"]


def stage_of(run: PlannedRun, origins: TextOrigins) -> Stage:
    """How far a run is. Raises ConfigError where its folder holds something else, or a run of other settings or texts.

    Limits may change as long as the run is not beyond them; with other limits than it had, it has not finished.
    """
    folder, after = RunFolder(run.path), run.experiment()
    if not folder.exists:
        return "new"
    if not (folder.path / SETTINGS_FILE).is_file():
        raise ConfigError("run", "is no run folder, but a run of this comparison would go there", HINT)
    before = folder.experiment()
    changed = _changed(before, after)
    limits = [name for name in changed if name.removeprefix("training.") in LIMITS]
    done = _done(folder) if limits else {}
    faults = [
        Fault(name, f"was {_text(then)} when it was trained, is {_text(now)} now", HINT)
        for name, (then, now) in changed.items()
        if name.partition(".")[0] not in OPEN and not (name in limits and (now is None or done[name] <= now))
    ]
    noted = folder.origins()
    texts = with_settings(noted, held_out(before), before.data.max_length) if noted else {}
    if noted and not faults and texts != origins.of(run.contender):
        faults.append(Fault("data", "was trained on other texts", HINT))
    if faults:
        raise ConfigError.of(faults)
    return "finished" if folder.finished and not limits else "begun"


def stages_of(runs: Sequence[PlannedRun], origins: TextOrigins) -> dict[str, Stage]:
    """The stage of each run by its name. Raises one ConfigError of all that is wrong with any."""
    stages, faults = dict[str, Stage](), dict[Fault, list[Path]]()
    for run in runs:
        try:
            stages[run.name] = stage_of(run, origins)
        except ConfigError as error:
            for fault in error.faults:
                faults.setdefault(fault, []).append(run.path)
    if faults:
        raise ConfigError.of(
            fault._replace(place=f"{some[0]}{f' and {len(some) - 1} more' if some[1:] else ''}: {fault.place}")
            for fault, some in faults.items()
        )
    return stages


def prepare_folders(runs: Sequence[PlannedRun], stages: Mapping[str, Stage]) -> None:
    """Gives finished runs the settings that a trained model leaves open."""
    for run in runs:
        folder = RunFolder(run.path)
        if stages[run.name] == "finished":
            with folder.held():
                folder.keep(run.experiment())


def same_models(contenders: Iterable[Contender]) -> list[list[str]]:
    """Names of contenders that differ in nothing but what a trained model leaves open."""
    found: list[tuple[dict[str, Any], list[str]]] = []
    for one in contenders:
        learnt = {name: value for name, value in as_values(one.experiment).items() if name not in (*OPEN, "run")}
        names = next((names for known, names in found if known == learnt), None)
        if names is None:
            found.append((learnt, [one.name]))
        else:
            names.append(one.name)
    return [names for _, names in found if len(names) > 1]


def _changed(before: Experiment, after: Experiment) -> dict[str, tuple[Any, Any]]:
    """setting → (before, after), where they differ."""
    groups = [
        {name: value for name, value in as_values(one).items() if name not in BY_CONTENT} for one in (before, after)
    ]
    old, new = (dict(flat_settings(group)) for group in groups)
    return {name: (old.get(name), new.get(name)) for name in {**old, **new} if old.get(name) != new.get(name)}


def _done(folder: RunFolder) -> dict[str, float]:
    """How far a run has come, by the setting that limits it."""
    state = files.latest_valid(folder.path, training=False)[0].state if folder.started else {}
    found = {"max_updates": state.get("update", 0), "max_epochs": epoch_of(saved_place(state))}
    spent = {"max_minutes": state.get("seconds", 0.0) / 60, "max_core_minutes": state.get("core_seconds", 0.0) / 60}
    return {f"training.{name}": value for name, value in {**found, **spent}.items()}


def _text(value: Any) -> str:
    return "nothing" if value is None else str(value)
