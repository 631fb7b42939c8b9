"""Changes of settings when a run is resumed; those that its weights, scores or order of data depend on are refused."""

from collections.abc import Callable, Iterator, Mapping
from shlex import quote
from typing import Any, NamedTuple

from regard.config import as_values
from regard.data.readers.lines import digest
from regard.errors import ConfigError, Fault
from regard.experiment import Experiment
from regard.experiment.data import is_learnt_from
from regard.experiment.settings_help import places
from regard.runs.rehearsal import Rehearsal
from regard.runs.run import Run
from regard.runs.texts import held_out, part_reader

NEVER, HINT = "cannot change in a run that has begun", "start another one: run=FOLDER"


class Change(NamedTuple):
    """A changed setting."""

    place: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.place}: {_said(self.before)} → {_said(self.after)}"


def check_resumed(rehearsal: Rehearsal, run: Run, say: Callable[[str], None]) -> None:
    """Report changed settings.

    Raises ConfigError that lists all changes that a started run does not allow, and for a run without a training set.
    """
    before, experiment = run.experiment, rehearsal.experiment
    if experiment.data.train is None and not experiment.data.routes:
        hint = f"fine-tune it: regard train --from {quote(str(run.path))} --source FILE --target FILE"
        raise ConfigError("data.train", "the run has no training set, as imported runs have none", hint)
    if not run.folder.started:
        return
    changes = list(_changes(_compared(before), _compared(experiment)))
    faults = [
        *_fixed(changes),
        *_turns(before, experiment),
        *_share(before, experiment),
        *_shapes(before, rehearsal, changes),
    ]
    faults += _texts(experiment, run.folder.origins())
    if faults:
        raise ConfigError.of(faults)
    for change in changes:
        say(str(change))


def origins_of(experiment: Experiment) -> dict[str, Any]:
    """Return the origins of a run's texts, independent of their paths: each part's reader and digests of its files."""
    return {
        part: {"read": reader.key(), "files": [digest(file).hex() for file in reader.files]}
        for part in experiment.data.readers()
        if part.rpartition(".")[2] != "test" and (reader := part_reader(experiment, part)) is not None
    }


def _compared(experiment: Experiment) -> dict[str, Any]:
    return {name: value for name, value in as_values(experiment).items() if name != "run"}  # a run may be moved


def _changes(before: Any, after: Any, place: str = "") -> Iterator[Change]:
    """Yield changes of groups setting by setting, and of a replaced part as a whole."""
    groups = isinstance(before, Mapping) and isinstance(after, Mapping)
    if groups and before.get("name") == after.get("name"):
        for name in dict.fromkeys([*before, *after]):
            yield from _changes(before.get(name), after.get(name), f"{place}.{name}".lstrip("."))
    elif before != after:
        yield Change(place, before, after)


def _fixed(changes: list[Change]) -> Iterator[Fault]:
    known = {one.place for one in places() if one.fixed} if changes else set()
    for place, before, after in changes:
        if any(place == fixed or place.startswith(f"{fixed}.") for fixed in known):
            yield Fault(place, f"{NEVER}: {_said(before)} → {_said(after)}", HINT)


def _turns(before: Experiment, after: Experiment) -> Iterator[Fault]:
    """Yield faults of changed optimizers of turns, wherever they are named."""
    for name in {**before.training.turns, **after.training.turns}:
        optimizers = [experiment.training.turn(name).optimizer for experiment in (before, after)]
        if optimizers[0] != optimizers[1]:
            names = " → ".join(choice.name for choice in optimizers)
            yield Fault(f"training.turns.{name}.optimizer", f"{NEVER}: {names}", HINT)


def _share(before: Experiment, after: Experiment) -> Iterator[Fault]:
    """Yield faults of held-out fractions, which also change where a part gets files of its own."""
    for part, then, now in zip(("dev", "test"), held_out(before)[:2], held_out(after)[:2], strict=True):
        if then != now:
            yield Fault(f"data.{part}_fraction", f"{NEVER}: {then:g} → {now:g} of the training texts held out", HINT)


def _shapes(before: Experiment, after: Rehearsal, changes: list[Change]) -> Iterator[Fault]:
    found = [str(change).removeprefix("model.") for change in changes if change.place.startswith("model.")]
    if found and Rehearsal(before).shapes != after.shapes:
        yield Fault("model", f"the trained weights do not fit after {', '.join(found)}", HINT)


def _texts(experiment: Experiment, before: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield faults of texts, by content: a file may be moved, but not edited."""
    after = origins_of(experiment)
    for part in {**before, **after}:
        if before.get(part) == after.get(part) or (part not in before and not is_learnt_from(part)):
            continue
        reader, place = part_reader(experiment, part), f"data.{part}"
        if reader is None or part not in before or after[part]["read"] != before[part]["read"]:
            yield Fault(place, f"{NEVER}: its reader or settings differ", HINT)
            continue
        both = zip(before[part]["files"], after[part]["files"], strict=True)
        others = [number for number, (then, now) in enumerate(both) if then != now]
        for number in others:
            named = _setting(experiment, part, number)
            yield Fault(named, f"{NEVER}, and '{reader.files[number]}' has changed since then", HINT)


def _setting(experiment: Experiment, part: str, number: int) -> str:
    """Return the setting that names a file of a part."""
    choice = experiment.reader(part)
    files = {} if choice is None else choice.settings.get("files", {})
    return f"data.{part}.{list(files)[number]}" if len(files) > number else f"data.{part}"


def _said(value: Any) -> str:
    """Return a value in the form of a config file, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_said(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_said, value)) + "]"
    return {None: "nothing", True: "true", False: "false"}[value] if isinstance(value, bool | None) else str(value)
