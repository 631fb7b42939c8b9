"""The runs of a comparison: each config in each combination of the grids, with each seed."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from regard.config import NumberOfName, as_values, deferred_warnings, merge, parse_changes, read_yaml, spelled
from regard.errors import ConfigError, Fault
from regard.experiment import Experiment, load_parts, named_parts, read_experiment
from regard.experiment.complete_settings import read_changes
from regard.runs.rehearsal import Rehearsal
from regard.training.settings import LIMITS

_Changes = tuple[str, ...]
Combination = list[tuple[str, Any]]  # (setting, value) of each grid
SEEDS = 3  # trainings of each contender, unless a request says otherwise
_SHOWN = 3  # contenders named in an error that several share
MAX_NAME_BYTES = 200  # of 255 for a file name: a seed, and the marks of a file that is being written, come on top
_CORPORA = "corpora"  # the folder of training corpora that all runs of a comparison share


class Budget(NamedTuple):
    """Limits of each run; without any, those of its config."""

    minutes: float | None = None
    updates: int | None = None
    core_minutes: float | None = None  # of processor time, which other work on the machine does not shorten

    def changes(self) -> _Changes:
        """Return the settings of a budget; anything else is unlimited."""
        if self == Budget():
            return ()
        given = {"max_minutes": self.minutes, "max_core_minutes": self.core_minutes, "max_updates": self.updates}
        return tuple(f"training.{name}={json.dumps(given.get(name))}" for name in LIMITS)

    def faults(self) -> list[Fault]:
        """Return the options whose value is not a finite number."""
        given = {"--minutes": self.minutes, "--core-minutes": self.core_minutes}
        endless = [name for name, value in given.items() if value is not None and not math.isfinite(value)]
        return [Fault(name, "must be a finite number") for name in endless]


class Publication(NamedTuple):
    """`# paper: URL` and `# published: FIGURE on DATA` at the head of a config; None where there is no such line."""

    paper: str | None = None
    published: str | None = None


class Contender(NamedTuple):
    """One row of the table: a config with its changes."""

    name: str
    config: Path
    changes: _Changes
    experiment: Experiment
    publication: Publication = Publication()


class PlannedRun(NamedTuple):
    """A contender with a seed, and the run folder where it is trained."""

    contender: Contender
    seed: int
    path: Path

    @property
    def name(self) -> str:
        """The name of the folder: <contender>-seed<k>, or -fold<k>."""
        return self.path.name

    def experiment(self) -> Experiment:
        """The settings of this run."""
        shared, cache = self.contender.experiment, (self.path.parent / _CORPORA).absolute()
        data = shared.data if shared.data.cache is not None else replace(shared.data, cache=cache)
        if data.folds is not None:
            data = replace(data, fold=self.seed)
        return replace(shared, data=data, training=replace(shared.training, seed=self.seed), run=self.path)

    def limits(self) -> dict[str, Any]:
        """Return the limits: max_updates, max_minutes …"""
        return {name: getattr(self.contender.experiment.training, name) for name in LIMITS}


def contenders_of(
    configs: Sequence[Path], changes: Sequence[str], grids: Sequence[str], budget: Budget
) -> list[Contender]:
    """Return each config in each combination of the grids. Each model is first built in small.

    Raises ConfigError with all errors of any of them.
    """
    with deferred_warnings():
        if faults := budget.faults():
            raise ConfigError.of(faults)
        _check_reserved(changes, grids, budget)
        load_parts([file for config in configs for file in named_parts(read_yaml(config), changes)])
        read_changes(changes)
        planned = [
            (_contender_name(config, configs, one), config, _ordered(changes, one) + budget.changes())
            for config in configs
            for one in grid_combinations(grids)
        ]
        _check_names([name for name, *_ in planned])
        found, faults_of = [], dict[Fault, list[str]]()
        for name, config, words in planned:
            try:
                experiment = read_experiment(config, words)
                Rehearsal(experiment).check_parts()
                found.append(Contender(name, config, words, experiment, publication_of(config)))
            except ConfigError as error:
                for fault in error.faults:
                    faults_of.setdefault(fault, []).append(name)
        if faults_of:
            raise ConfigError.of(_with_names(fault, names, len(planned)) for fault, names in faults_of.items())
        return found


def runs_of(contenders: Sequence[Contender], seeds: int, folder: Path) -> list[PlannedRun]:
    """Return all runs, seed by seed, for an early result of each contender. With folds a seed has its own fold."""
    kind = "seed" if folds_of(contenders) is None else "fold"
    numbers = range(1, seeds + 1)
    return [PlannedRun(one, seed, folder / f"{one.name}-{kind}{seed}") for seed in numbers for one in contenders]


def folds_of(contenders: Sequence[Contender]) -> int | None:
    """Return the number of folds of the first contender; `common_test` ensures that all have the same."""
    return contenders[0].experiment.data.folds


def seeds_of(contenders: Sequence[Contender], seeds: int | None) -> int:
    """Return the number of trainings of each contender: as given, else one for every fold, else SEEDS.

    Raises ConfigError where there are fewer folds than trainings.
    """
    folds = folds_of(contenders)
    if folds is not None and seeds is not None and seeds > folds:
        raise ConfigError("--seeds", f"is {seeds}, and there are {folds} folds, one for each training", f"1 to {folds}")
    return seeds or folds or SEEDS


def differing_settings(contenders: Sequence[Contender]) -> dict[str, list[Any]]:
    """setting → its value for each contender, of the settings that are not the same for all; None where it has none."""
    return _differing([_flat(as_values(one.experiment)) for one in contenders])


def implied_differences(contenders: Sequence[Contender]) -> list[str]:
    """Return a line for each setting that differs, although neither configs nor grids give it different values.

    A default may follow from another setting, as `num_layers` does from the name of an encoder. Settings that only
    one of the contenders has belong to that name, and data are compared by their content.
    """
    settings = [_flat(as_values(one.experiment)) for one in contenders]
    files = [merge(spelled(Experiment, read_yaml(one.config)), read_changes(one.changes)) for one in contenders]
    given = [
        {name: value for name, value in _flat(one).items() if not isinstance(value, NumberOfName)} for one in files
    ]
    named, lines = _differing(given), []
    for name in _differing(settings):
        values: dict[str, list[str]] = {}
        for one, own in zip(contenders, settings, strict=True):
            if name in own:
                values.setdefault(json.dumps(own[name], ensure_ascii=False), []).append(one.name)
        if len(values) > 1 and name not in named and not name.startswith("data."):
            lines.append(f"{name} {', '.join(f'{value} ({_some(those)})' for value, those in values.items())}")
    return lines


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flat_settings(settings) if name.partition(".")[0] != "run"}


def _differing(settings: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    found = {name: [one.get(name) for one in settings] for one in settings for name in one}
    return {name: values for name, values in found.items() if any(value != values[0] for value in values)}


def publication_of(config: Path) -> Publication:
    """Read the comment at the head of a config. Raises OSError where the file cannot be read."""
    with config.open(encoding="utf-8") as file:
        lines = [line.lstrip("#").strip() for line in takewhile(lambda line: line.startswith("#"), file)]
    fields = {name: value.strip() for name, _, value in (line.partition(": ") for line in lines)}
    return Publication(fields.get("paper"), fields.get("published"))


# Names and changes


def _contender_name(config: Path, configs: Sequence[Path], values: Combination) -> str:
    """The file's name and the values; the values alone where there is one file."""
    names = [value_name(key, value) for key, value in values]
    return "-".join([*([config.stem] if len(configs) > 1 or not names else []), *names])


def _check_names(names: Sequence[str]) -> None:
    """Raise ConfigError for names that are not unique folder names."""
    for name in names:
        if (size := len(name.encode(errors="replace"))) > MAX_NAME_BYTES:
            problem = f"'{name[:40]}…' would be the name of a folder, and has {size} bytes"
            hint = f"at most {MAX_NAME_BYTES}: a shorter file name, or fewer settings in a grid"
            raise ConfigError("CONFIG", problem, hint)
        if names.count(name) > 1:
            hint = "give each config once, and other names to files that are called the same"
            raise ConfigError("CONFIG", f"there are {names.count(name)} that would be called '{name}'", hint)


def _check_reserved(changes: Sequence[str], grids: Sequence[str], budget: Budget) -> None:
    """Raise ConfigError for settings that the comparison itself sets in every run."""
    in_grids = [f"{key}={json.dumps(value)}" for one in grid_combinations(grids) for key, value in one]
    limits = [one.partition("=")[0] for one in budget.changes()]
    hints = dict.fromkeys(_named(limits, in_grids), "leave --minutes, --core-minutes and --updates out")
    fixed = {
        "training.seed": "--seeds N trains each with the seeds 1 to N",
        "data.fold": "data.folds=10 takes one after another",
        "run": "--run FOLDER holds all runs",
    }
    hints |= {name: fixed[name] for name in _named(fixed, [*changes, *in_grids])}
    if hints:
        problem = "is set for each run by the comparison"
        raise ConfigError.of(Fault(name, problem, hint) for name, hint in hints.items())


def _named(settings: Iterable[str], changes: Iterable[str]) -> list[str]:
    """Return the settings that the changes name."""
    given = {name for change in changes for name, _ in flat_settings(parse_changes([change]))}
    return [name for name in settings if name in given]


def _ordered(changes: Sequence[str], values: Combination) -> _Changes:
    """Return all changes, a group before its members, so that it does not discard them."""
    words = [*changes, *(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in values)]
    return tuple(sorted(words, key=lambda word: word.partition("=")[0].count(".")))


def _with_names(fault: Fault, names: list[str], count: int) -> Fault:
    """Return an error with the contenders that have it, unless all have."""
    if len(names) == count:
        return fault
    return fault._replace(place=f"{_some(names)}: {fault.place}")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


# Grids: `--grid KEY=A,B`, and what their values are called in the names of folders


def grid_combinations(grids: Sequence[str]) -> list[Combination]:
    """Every combination of one value of each grid."""
    axes = [_axis(grid) for grid in grids]
    keys = [axis[0][0] for axis in axes]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigError(f"--grid {key}", "is given twice", "one list of values with commas between them")
    for axis in axes:
        _check_values(axis)
    return [list(one) for one in product(*axes)]


def _axis(grid: str) -> Combination:
    key, equals, listed = grid.partition("=")
    if not equals or not key.strip() or not listed.strip():
        example = "--grid model.attention.score=dot,bilinear"
        raise ConfigError(f"--grid {grid}", "a setting and its values are written KEY=VALUE,VALUE", example)
    try:
        values = parse_changes([f"values=[{listed}]"])["values"]
    except ConfigError as error:
        raise ConfigError.of(fault._replace(place=f"--grid {grid}") for fault in error.faults) from error
    return [(key.strip(), value) for value in values]


def _check_values(axis: Combination) -> None:
    """Raise ConfigError where two values have the same name."""
    seen = dict[str, str]()
    for key, value in axis:
        name, text = value_name(key, value), json.dumps(value, ensure_ascii=False)
        if seen.get(name) == text:
            raise ConfigError(f"--grid {key}", f"{text} is given twice", "each value once")
        if name in seen:
            problem = f"{seen[name]} and {text} would both be called '{name}'"
            raise ConfigError(f"--grid {key}", problem, "leave one out")
        seen[name] = text


def value_name(key: str, value: Any) -> str:
    """The value of a setting as part of a folder's name."""
    last = key.rpartition(".")[2]
    if isinstance(value, str):
        text = value
    elif isinstance(value, Mapping):
        parts = dict(flat_settings(value))
        text = "-".join([str(parts.pop("", last)), *(f"{name}-{item}" for name, item in parts.items())])
    elif isinstance(value, list):
        text = "+".join(value_name(key, item) for item in value)
    else:
        text = f"{last}-{json.dumps(value)}"
    return re.sub(r"[^\w.+-]+", "-", text).strip("-.") or last


def flat_settings(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Nested groups → dotted names; a part without settings is the same as its name."""
    if not isinstance(value, Mapping):
        yield place, value
        return
    for name, item in value.items():
        yield from flat_settings(item, place if name == "name" else f"{place}.{name}".lstrip("."))
