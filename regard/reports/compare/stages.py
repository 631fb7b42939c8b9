"""The texts that all runs of a comparison share, and how far each run is; one of other settings or texts is refused."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from regard.config import as_values
from regard.data.columns import Columns, small_columns
from regard.data.streams import epoch_of, saved_place
from regard.errors import ConfigError, DataError, Fault
from regard.experiment import OPEN, SETTINGS_FILE, DataSettings, Experiment
from regard.reports.compare.plan import Contender, PlannedRun, flat_settings
from regard.runs import Run, RunFolder
from regard.runs.resuming import origins_of
from regard.runs.stages import check_start
from regard.runs.texts import HeldOut, held_out, part_reader, test_examples
from regard.tasks import TASKS, Examples
from regard.training import checkpoint as files
from regard.training.settings import LIMITS

BY_CONTENT = ("run", "data")  # compared by the texts themselves: a folder may be moved
_HINT = "another --run FOLDER, or delete what is there"
Stage = Literal["new", "begun", "finished"]


class FoundRun(NamedTuple):
    """Stage of a run, and the settings that it was trained with; None: there are none yet."""

    stage: Stage
    before: Experiment | None = None


# Texts


class TextOrigins:
    """The texts that contenders learn from, by content. Files named alike are read once."""

    def __init__(self) -> None:
        self._known: list[tuple[DataSettings, dict[str, Any]]] = []

    def of(self, one: Contender) -> dict[str, Any]:
        """The texts of a training, with the settings that leave out some of them."""
        data = one.experiment.data
        for known, found in self._known:
            if known == data:
                return found
        found = with_settings(origins_of(one.experiment), held_out(one.experiment), data.max_length)
        self._known.append((data, found))
        return found


def with_settings(origins: Mapping[str, Any], shares: HeldOut, max_length: int) -> dict[str, Any]:
    """The origins of a run, with what leaves out some of its training texts."""
    train = {**origins["train"], "held_out": shares, "max_length": max_length}
    return dict.fromkeys(("train", "dev")) | {**origins, "train": train}


def common_test(contenders: Sequence[Contender], origins: TextOrigins, *, any_data: bool) -> Examples:
    """Return the test set that all share. Raises ConfigError with all differences.

    With `any_data` training sets may differ, but the test set is the same.
    """
    first, *others = _by_data(contenders)
    test, texts = _test(first.experiment), origins.of(first)
    if test is None:
        named = [f"data.test.{column}" for column in first.experiment.columns]
        hint = " ".join(f"{name}=FILE" for name in named)
        raise ConfigError(named[0], f"must be given: '{first.name}' names no test set", hint)
    faults = []
    for other in others:
        if _test(other.experiment) != test:
            faults.append(_other_texts("test", "is evaluated on", first, other, ""))
        if not any_data:
            their = origins.of(other)
            parts = [part for part in {**texts, **their} if texts.get(part) != their.get(part)]
            faults += [_other_texts(part, "learns from", first, other, ", or --any-data") for part in parts]
    if faults:
        raise ConfigError.of(faults)
    return test


def fold_tests(contenders: Sequence[Contender], seeds: int) -> list[Examples]:
    """Return the test set of each fold that is trained; [] without folds. Raises DataError for an empty one."""
    first, found = contenders[0].experiment, []
    if first.data.folds is None:
        return []
    for fold in range(1, seeds + 1):
        test = _test(replace(first, data=replace(first.data, fold=fold)))
        if test is None:
            raise DataError("data.folds", f"fold {fold} of {first.data.folds} has no example", hint="fewer folds")
        found.append(test)
    return found


def _test(experiment: Experiment) -> Examples | None:
    """Return the test set of a contender. The columns evaluated depend on the settings of the task alone."""
    columns = small_columns(experiment.columns, shared=experiment.text.one_vocabulary)
    return test_examples(experiment, TASKS.build(experiment.task, columns))


def _by_data(contenders: Sequence[Contender]) -> Iterator[Contender]:
    """The first contender of each way to say where the texts are."""
    seen: list[DataSettings] = []
    for one in contenders:
        if one.experiment.data not in seen:
            seen.append(one.experiment.data)
            yield one


def _other_texts(part: Any, verb: str, first: Contender, other: Contender, more: str) -> Fault:
    problem = f"'{other.name}' {verb} {_files(other, part)}, '{first.name}' {verb} {_files(first, part)}"
    files = " ".join(f"data.{part}.{column}=FILE" for column in first.experiment.columns)
    return Fault(f"data.{part}", problem, f"say the same for all: {files}{more}")


def _files(one: Contender, part: Any) -> str:
    reader = part_reader(one.experiment, part)
    if reader is None:
        return "no such file"
    names = " and ".join(map(str, reader.files)) or reader.place
    if part == "train":
        share, longest = sum(held_out(one.experiment)[:2]), one.experiment.data.max_length
        names += f" up to {longest} pieces" + (f" without a share of {share:g}" if share else "")
    return names


# Stages


def stage_of(run: PlannedRun, origins: TextOrigins) -> FoundRun:
    """Return the stage of a run. Raises ConfigError where its folder holds anything but a run of these settings.

    Limits may change as long as the run is within them; a run of other limits counts as unfinished.
    """
    folder, after = RunFolder(run.path), run.experiment()
    if not folder.exists:
        return FoundRun("new")
    if not (folder.path / SETTINGS_FILE).is_file():
        raise ConfigError("run", "is not a run folder, but a run of this comparison would be written there", _HINT)
    before = Run.open(folder).experiment
    changed = _changed(before, after)
    limits = [name for name in changed if name.removeprefix("training.") in LIMITS]
    state = files.latest_valid(folder.path, training=False)[0].state if limits and folder.started else {}
    done = {  # how far it has come, by the setting that limits it
        "training.max_updates": state.get("update", 0),
        "training.max_epochs": epoch_of(saved_place(state)),
        "training.max_minutes": state.get("seconds", 0.0) / 60,
        "training.max_core_minutes": state.get("core_seconds", 0.0) / 60,
    }
    faults = [
        Fault(name, f"was {_text(then)} when it was trained, is {_text(now)} now", _HINT)
        for name, (then, now) in changed.items()
        if name.partition(".")[0] not in OPEN and not (name in limits and (now is None or done[name] <= now))
    ]
    noted = folder.origins()
    texts = with_settings(noted, held_out(before), before.data.max_length) if noted else {}
    if noted and not faults and texts != origins.of(run.contender):
        faults.append(Fault("data", "was trained on other texts", _HINT))
    if faults:
        raise ConfigError.of(faults)
    return FoundRun("finished" if folder.finished and not limits else "begun", before)


def stages_of(runs: Sequence[PlannedRun], origins: TextOrigins) -> dict[str, FoundRun]:
    """The stage of each run by its name. Raises one ConfigError of all that is wrong with any."""
    stages, faults = dict[str, FoundRun](), dict[Fault, list[Path]]()
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


def prepare_folders(runs: Sequence[PlannedRun], found: Mapping[str, FoundRun]) -> dict[str, Stage]:
    """Give finished runs the settings that a trained model leaves open; return the stage of each run by its name."""
    for run in runs:
        folder, (stage, before) = RunFolder(run.path), found[run.name]
        if stage == "finished" and before is not None:
            with folder.held():
                folder.keep(run.experiment(), before)
    return {name: one.stage for name, one in found.items()}


def check_new(runs: Sequence[PlannedRun], stages: Mapping[str, Stage]) -> None:
    """Learn the vocabularies and build the networks of contenders without a run; data and text alike are learnt once.

    Raises ConfigError with all errors of any of them, before the first is trained.
    """
    begun = {run.contender.name for run in runs if stages[run.name] != "new"}
    known: list[tuple[Experiment, Columns]] = []
    faults = []
    for one in {run.contender.name: run.contender for run in runs}.values():
        mine = one.experiment
        if one.name in begun:
            continue
        same = next((found for seen, found in known if _learns_alike(seen, mine)), None)
        try:
            with warnings.catch_warnings(action="ignore"):  # they were shown when the settings were read
                known.append((mine, check_start(mine, same)))
        except ConfigError as error:
            faults += [fault._replace(place=f"{one.name}: {fault.place}") for fault in error.faults]
        except DataError as error:
            faults.append(Fault(one.name, str(error)))
    if faults:
        raise ConfigError.of(faults)


def _learns_alike(one: Experiment, other: Experiment) -> bool:
    """Return whether two runs learn the same vocabularies."""
    return all(getattr(one, name) == getattr(other, name) for name in ("data", "text", "task", "init"))


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


def _text(value: Any) -> str:
    return "nothing" if value is None else str(value)
