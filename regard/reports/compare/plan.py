"""What is to be trained: every config, crossed with every cell of the grid, with every seed."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from regard.config import parse_changes, plain, warned_last
from regard.errors import ConfigError, Fault
from regard.experiment import Experiment, read_changes, read_experiment
from regard.experiment.reading import LIMITS
from regard.reports.compare.grid import crossed, flattened, said
from regard.reports.compare.origin import Origin, origin_of
from regard.runs.rehearsal import rehearse

Changes = tuple[str, ...]
SHOWN = 3  # names told of those that share a fault
LONGEST = 200  # bytes of a name: with a seed and the marks of a file that is being written, a folder holds 255
CORPORA = "corpora"  # the folder of training corpora that all runs of a comparison share


class Budget(NamedTuple):
    """How long each run trains; without one, as its config says."""

    minutes: float | None = None
    updates: int | None = None
    core_minutes: float | None = None  # of processor time: fair on a machine that does something else beside

    def changes(self) -> Changes:
        """Who gives a budget wants no other limit."""
        if self == Budget():
            return ()
        given = {"max_minutes": self.minutes, "max_core_minutes": self.core_minutes, "max_updates": self.updates}
        return tuple(f"training.{name}={json.dumps(given.get(name))}" for name in LIMITS)

    def faults(self) -> list[Fault]:
        """What is wrong with it."""
        given = {"--minutes": self.minutes, "--core-minutes": self.core_minutes}
        endless = [name for name, value in given.items() if value is not None and not math.isfinite(value)]
        return [Fault(name, "must be a finite number") for name in endless]


class Contender(NamedTuple):
    """One row of the table: a config with its changes."""

    name: str
    config: Path
    changes: Changes
    experiment: Experiment
    origin: Origin = Origin()


class Planned(NamedTuple):
    """A contender with a seed, and the run folder where it is trained."""

    contender: Contender
    seed: int
    path: Path

    @property
    def name(self) -> str:
        """Of the folder: <contender>-seed<k>."""
        return self.path.name

    def experiment(self) -> Experiment:
        """The settings of this run."""
        whole, cache = self.contender.experiment, (self.path.parent / CORPORA).absolute()
        data = whole.data if whole.data.cache is not None else replace(whole.data, cache=cache)
        return replace(whole, data=data, training=replace(whole.training, seed=self.seed), run=self.path)

    def limits(self) -> dict[str, Any]:
        """When it ends."""
        return {name: getattr(self.contender.experiment.training, name) for name in LIMITS}


def contenders_of(
    configs: Sequence[Path], changes: Sequence[str], grids: Sequence[str], budget: Budget
) -> list[Contender]:
    """Each config in each cell of the grid, built in small. Raises ConfigError of all that is wrong in any of them."""
    with warned_last():
        return _contenders(configs, changes, grids, budget)


def _contenders(
    configs: Sequence[Path], changes: Sequence[str], grids: Sequence[str], budget: Budget
) -> list[Contender]:
    if faults := budget.faults():
        raise ConfigError.of(faults)
    _not_ours(changes, grids, budget)
    read_changes(changes)
    wanted = [
        (_name(config, configs, cell), config, _ordered(changes, cell) + budget.changes())
        for config in configs
        for cell in crossed(grids)
    ]
    _told_apart([name for name, *_ in wanted])
    found, told = [], dict[Fault, list[str]]()
    for name, config, words in wanted:
        try:
            experiment = read_experiment(config, words)
            rehearse(experiment)
            found.append(Contender(name, config, words, experiment, origin_of(config)))
        except ConfigError as error:
            for fault in error.faults:
                told.setdefault(fault, []).append(name)
    if told:
        raise ConfigError.of(_of_some(fault, some, len(wanted)) for fault, some in told.items())
    return found


def _told_apart(names: Sequence[str]) -> None:
    """Raises ConfigError for names that cannot be those of folders, one each."""
    for name in names:
        if (size := len(name.encode(errors="replace"))) > LONGEST:
            problem = f"'{name[:40]}…' would be the name of a folder, and has {size} bytes"
            raise ConfigError("CONFIG", problem, f"at most {LONGEST}: a shorter file name, or fewer settings in a grid")
        if names.count(name) > 1:
            hint = "give each config once, and other names to files that are called the same"
            raise ConfigError("CONFIG", f"there are {names.count(name)} that would be called '{name}'", hint)


def _not_ours(changes: Sequence[str], grids: Sequence[str], budget: Budget) -> None:
    """Raises ConfigError of settings that the comparison gives every run itself."""
    cells = [f"{key}={json.dumps(value)}" for cell in crossed(grids) for key, value in cell]
    ours = {"training.seed": "--seeds N trains each with the seeds 1 to N", "run": "--run FOLDER holds all runs"}
    limits = dict.fromkeys(
        (one.partition("=")[0] for one in budget.changes()), "leave --minutes, --core-minutes and --updates out"
    )
    told = {**_said_of(limits, cells), **_said_of(ours, [*changes, *cells])}
    faults = [Fault(name, "is set for each run by the comparison", hint) for name, hint in told.items()]
    if faults:
        raise ConfigError.of(faults)


def _said_of(hints: Mapping[str, str], changes: Iterable[str]) -> dict[str, str]:
    """Those of the settings that the changes speak of."""
    given = {name for change in changes for name, _ in flattened(parse_changes([change]))}
    return {name: hint for name, hint in hints.items() if name in given}


def runs_of(contenders: Iterable[Contender], seeds: int, folder: Path) -> list[Planned]:
    """Seed by seed, so that there is something of everyone early."""
    listed = list(contenders)
    return [Planned(one, seed, folder / f"{one.name}-seed{seed}") for seed in range(1, seeds + 1) for one in listed]


def differing(contenders: Sequence[Contender]) -> dict[str, list[Any]]:
    """setting → its value of each contender, of the settings that are not the same for all; None where it has none."""
    flat = [dict(flattened(plain(one.experiment))) for one in contenders]
    names = dict.fromkeys(name for settings in flat for name in settings if name.partition(".")[0] != "run")
    found = {name: [settings.get(name) for settings in flat] for name in names}
    return {name: values for name, values in found.items() if any(value != values[0] for value in values)}


def _ordered(changes: Sequence[str], cell: Sequence[tuple[str, Any]]) -> Changes:
    """A group stands before what is inside it, so that the one does not discard the other."""
    words = [*changes, *(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in cell)]
    return tuple(sorted(words, key=lambda word: word.partition("=")[0].count(".")))


def _name(config: Path, configs: Sequence[Path], cell: Sequence[tuple[str, Any]]) -> str:
    """The file's name, unless there is one file alone and the cell tells more."""
    values = [said(key, value) for key, value in cell]
    return "-".join([*([config.stem] if len(configs) > 1 or not values else []), *values])


def _of_some(fault: Fault, names: list[str], count: int) -> Fault:
    """A fault that not everyone has names those who have it."""
    if len(names) == count:
        return fault
    some = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return fault._replace(place=f"{some}: {fault.place}")
