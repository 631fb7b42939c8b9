"""Defaults by the size of the data < file < changes → an experiment, or all that is wrong with it."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from regard.attention import WEIGHTINGS
from regard.config import lay, merge, parse_changes, read_settings, read_yaml, schema_of, spelled, warned_last
from regard.data.readers import READERS
from regard.errors import ConfigError, Fault, nearest
from regard.evaluation import METRICS
from regard.experiment.halves import halved
from regard.experiment.idle import idle
from regard.experiment.settings import Experiment
from regard.experiment.sizes import LARGE, defaults_for
from regard.heads import HEADS
from regard.models import most_places, unused_sockets
from regard.objectives import OBJECTIVES
from regard.tasks import TASKS
from regard.training.stopping import higher_is_better

LIMITS = ("max_updates", "max_epochs", "max_minutes", "max_core_minutes")  # who sets one of them wants no other


def read_experiment(path: Path | None, changes: Iterable[str] = ()) -> Experiment:
    """The complete settings of a new run. Raises a ConfigError of all faults, or a DataError of its training files."""
    with warned_last():
        return _completed(_read(path, changes))


def _completed(settings: dict[str, Any]) -> Experiment:
    given = read_settings(Experiment, settings)
    faults = [*given.data.faults(given.columns), *_impossible(given, settings), *halved(given)]
    faults += _foreign(given, settings)
    if faults:
        raise ConfigError.of(faults)
    defaults = lay(defaults_for(count_examples(given)), _task(given).defaults)
    defaults["training"]["metric"] = _task(given).metric
    if any(limit in settings.get("training", {}) for limit in LIMITS):
        defaults["training"].pop("max_updates")
    complete: dict[str, Any] = lay(defaults, settings)
    experiment = read_settings(Experiment, complete)
    if _task(experiment).translates:
        _warn_of_unused(experiment, settings.get("model", {}))
    _warn_of_untaught(experiment)
    for line in idle(experiment, settings):
        warnings.warn(line, stacklevel=2)
    return replace(experiment, data=experiment.data.located())


def load_experiment(path: Path, changes: Iterable[str] = ()) -> Experiment:
    """What `Experiment.save` wrote, with changes. Its data files may be elsewhere or gone by now."""
    with warned_last():
        return read_settings(Experiment, _read(path, changes))


def _read(path: Path | None, changes: Iterable[str]) -> dict[str, Any]:
    """A file with changes laid on it. The name of a mechanism changes what it stands for and leaves all else."""
    return merge({} if path is None else spelled(Experiment, read_yaml(path)), read_changes(changes))


def read_changes(changes: Iterable[str]) -> dict[str, Any]:
    """`key=value` … → nested groups, in which the name of a mechanism is the settings it stands for."""
    return parse_changes(changes, partial(spelled, Experiment))


def count_examples(experiment: Experiment) -> int:
    """Examples to train on; counting ends at the largest number that makes a difference."""
    choice = experiment.reader("train")
    if choice is None:
        raise ConfigError(f"data.{experiment.columns[0]}", "must be given")
    return sum(1 for _ in islice(READERS.build(choice, experiment.columns), LARGE))


def schema() -> dict[str, Any]:
    """The JSON schema of a config file."""
    return {"title": "Regard experiment", **schema_of(Experiment)}


def _impossible(experiment: Experiment, settings: Mapping[str, Any]) -> Iterator[Fault]:
    """What is right by itself and wrong together."""
    if experiment.model.tied == "all" and len(experiment.columns) > 1 and not experiment.text.shared:
        yield Fault("model.tied", "'all' needs one vocabulary for both sides", "text.shared=true or model.tied=target")
    head: Any = HEADS[experiment.model.head.name]
    if head.copies and not experiment.text.shared:
        yield Fault("model.head", f"'{experiment.model.head.name}' needs one vocabulary", "text.shared=true")
    objective: Any = OBJECTIVES[experiment.objective.name]
    if experiment.training.compile and (objective.records or experiment.penalties):
        what = "penalties" if experiment.penalties else f"'{experiment.objective.name}'"
        yield Fault("training.compile", f"compiled code does not tell {what} what attention saw", "use false")
    task = _task(experiment)
    if "max_source" in settings.get("decoding", {}):
        most = most_places(experiment.model)
        yield from too_long_sources(experiment, None if most is None else most - task.continues)
    steering = settings.get("training", {}).get("metric", task.metric)
    names = [*task.losses, *(METRICS if task.translates else ())]
    if steering not in names:
        yield Fault("training.metric", f"there is no '{steering}'", nearest(steering, names))
    elif higher_is_better(steering) is None:
        yield Fault("training.metric", f"'{steering}' cannot choose: neither more nor less of it is better", "bleu")


def too_long_sources(experiment: Experiment, most: int | None) -> Iterator[Fault]:
    """Texts that decoding is to take and a model that reads `most` pieces, EOS counted, cannot; None: it reads any."""
    said = experiment.decoding.max_source
    if most is not None and said > most:
        problem = f"is {said}, but the model reads {most} pieces at most, as model.position.max_length has it"
        yield Fault("decoding.max_source", problem, f"{most} or less, or leave it out")


def _warn_of_unused(experiment: Experiment, said: dict[str, Any]) -> None:
    """Settings of an attention that the model does not have change nothing."""
    model = experiment.model
    for socket in unused_sockets(model) if {"attention", "self_attention"} & said.keys() else []:
        if socket in said:
            whose = f"encoder '{model.encoder.name}' nor decoder '{model.decoder.name}'"
            warnings.warn(f"model.{socket} changes nothing: neither {whose} looks that way", stacklevel=2)


def _warn_of_untaught(experiment: Experiment) -> None:
    """An attention that only draws learns nothing of where to look, unless the objective rewards draws."""
    objective: Any = OBJECTIVES[experiment.objective.name]
    if objective.rewards and experiment.objective.settings[objective.rewards]:
        return
    for socket in ("attention", "self_attention"):
        choice = getattr(experiment.model, socket).weighting
        weighting: Any = WEIGHTINGS[choice.name]
        softens = weighting.softens
        if softens and not choice.settings[softens] and socket not in unused_sockets(experiment.model):
            why = f"'{choice.name}' with {softens} 0 only draws, and '{experiment.objective.name}' rewards no draw"
            hint = f"objective=reinforce with a reward above 0, or a {softens} above 0"
            warnings.warn(f"model.{socket} never learns where to look: {why} ({hint})", stacklevel=2)


def _foreign(experiment: Experiment, settings: Mapping[str, Any]) -> Iterator[Fault]:
    """What is said of parts that a model of this task does not have."""
    for place in _task(experiment).without:
        group, _, name = place.partition(".")
        if name in settings.get(group, {}):
            yield Fault(place, f"is nothing that a model of the task '{experiment.task.name}' has", "leave it out")


def _task(experiment: Experiment) -> Any:
    """The row of the table, of which the columns and the figures are known before it is built."""
    return TASKS[experiment.task.name]
