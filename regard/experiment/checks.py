"""Checks of settings that are valid separately but not together, or that have no effect."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from regard.attention import Attention
from regard.config.warnings import Note
from regard.decoders import DECODERS
from regard.errors import ConfigError, Fault
from regard.experiment.settings import Experiment
from regard.models import AttentionSettings, Model
from regard.tasks.task import measure_of

_EXAMPLE = "{source: train.en, target: train.fr}"


def impossible_settings(experiment: Experiment, settings: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the faults of settings that are valid separately but not together."""
    task, training = experiment.task_class, settings.get("training", {})
    try:
        measure_of(task, training.get("metric", task.spec.metric))
    except ConfigError as error:
        yield from error.faults
    if "metrics" in settings.get("evaluation", {}):
        try:
            task.measures(experiment.evaluation.metrics)
        except ConfigError as error:
            yield from error.faults
    yield from _impossible_starts(experiment)
    yield from _impossible_augmentations(experiment)
    limits = [training.get(name) for name in ("batch_tokens", "batch_sentences")]
    if None not in limits:
        problem = "cannot be set together with training.batch_tokens"
        yield Fault("training.batch_sentences", problem, "training.batch_tokens=null, or leave one of them out")
    if "batch_tokens" in training and limits == [None, None]:
        yield Fault("training.batch_tokens", "is null, so a batch has no limit", "training.batch_sentences=80")


def _impossible_augmentations(experiment: Experiment) -> Iterator[Fault]:
    """Yield the faults of source augmentations that no model can learn."""
    place, text = "data.source_augmentations", experiment.text
    if experiment.data.source_augmentations and experiment.task.name != "translation":
        yield Fault(place, "is for networks that translate", "leave it out, or task=translation")
    elif experiment.data.source_augmentations and (text.tokenizer.name != "subwords" or not text.shared):
        problem = "puts text of the target language between marks in the source, so both share subwords"
        yield Fault(place, problem, "text.tokenizer=subwords text.shared=true")


def _impossible_starts(experiment: Experiment) -> Iterator[Fault]:
    """Yield the faults of settings of the run to start from."""
    if (init := experiment.init) is None:
        if experiment.data.old is not None:
            yield Fault("data.old", "is for a run that starts from another one", "--from RUN, or data.corpora")
        return
    if (init.run is None) == (init.huggingface is None):
        yield Fault("init", "names one folder to start from", "init.run=RUN or init.huggingface=FOLDER")
    for name in ("vocabularies", "new_pieces", "own_vocabulary") if init.huggingface is not None else ():
        if getattr(init, name):
            yield Fault(f"init.{name}", "is for another run", "leave it out: the model has one vocabulary")
    if init.new_pieces and init.own_vocabulary:
        yield Fault("init.new_pieces", "cannot be set together with init.own_vocabulary", "leave one of them out")


def check_model(experiment: Experiment, model: Model, settings: Mapping[str, Any]) -> None:
    """Raise ConfigError where a model does not fit the settings; warn of settings without effect."""
    task = experiment.task_class
    if not isinstance(model, task.spec.contract):
        problem = (
            f"'{experiment.model.name}' is not a {task.spec.contract.__name__}, which '{experiment.task.name}' needs"
        )
        raise ConfigError("model", problem, f"model={task.spec.model}, or another task")
    if "max_source" in settings.get("decoding", {}) and (faults := [*too_long_sources(experiment, model.max_source)]):
        raise ConfigError.of(faults)
    _check_routes(experiment, model)
    _check_own(experiment, model)
    _warn_of_unused(model, experiment.model.settings, settings.get("model", {}))


def too_long_sources(experiment: Experiment, most: int | None) -> Iterator[Fault]:
    """Yield a fault where decoding allows longer sources than the `most` pieces (with EOS) of a model, if any."""
    said = experiment.decoding.max_source
    if most is not None and said > most:
        problem = f"is {said}, but the model reads {most} pieces at most, by model.position.max_length"
        yield Fault("decoding.max_source", problem, f"{most} or less, or leave it out")


def _check_routes(experiment: Experiment, model: Model) -> None:
    """Raise ConfigError for language pairs that the model does not support, and languages without training texts."""
    if experiment.data.routes and not model.languages:
        problem = f"names further language pairs, but '{experiment.model.name}' supports one"
        raise ConfigError("data.routes", problem, "model=one_to_many or many_to_many, with model.languages")
    views = experiment.views()
    pairs = {name: view.data.language_pair() for name, view in views.items()}
    taken = {model.route(target) for name, (_, target) in pairs.items() if views[name].data.train is not None}
    untaught = [language for language in model.languages if language not in taken]
    if untaught and experiment.init is None:
        place = f"data.routes.{untaught[0]}.train"
        raise ConfigError(
            place, f"must be given: the model translates into '{untaught[0]}', which has no training text", _EXAMPLE
        )


def _check_own(experiment: Experiment, model: Model) -> None:
    """Raise ConfigError for languages that cannot have a vocabulary of their own."""
    if bad := [language for language in experiment.text.own_vocabularies if language not in model.own_languages]:
        able = ", ".join(model.own_languages)
        problem = f"'{bad[0]}' has no decoder of its own in this model" + (f"; possible: {able}" if able else "")
        if bad[0] in model.languages[:1]:
            problem = f"'{bad[0]}' is the first language, whose vocabulary is the shared one"
        raise ConfigError("text.own_vocabularies", problem, "leave it out")


def _warn_of_unused(model: Model, settings: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Warn of settings of an attention that no part of the model has."""
    used = {module.place for module in model.modules() if isinstance(module, Attention)}
    sides = [f"{side} '{settings[side].name}'" for side in ("encoder", "decoder") if settings.get(side) is not None]
    whose = "neither " + " nor ".join(sides) if len(sides) > 1 else f"no part of {(sides or ['it'])[0]}"
    for name, value in settings.items():
        if isinstance(value, AttentionSettings) and name in given and f"model.{name}" not in used:
            warnings.warn(f"model.{name} changes nothing: {whose} has this attention", stacklevel=2)


def ineffective_settings(experiment: Experiment, given: Mapping[str, Any], notes: Iterable[Note]) -> Iterator[str]:
    """Yield a warning for each setting without effect.

    `given` are the settings that the user wrote, `notes` those of the model's parts while they were built.
    """
    window, tokens = experiment.task.settings.get("window"), experiment.training.batch_tokens
    longest = window or experiment.data.max_length + 1  # pieces of a text in training, its end counted
    first_notes = {note.place: str(note) for note in reversed([*notes]) if longest <= note.beyond}
    yield from reversed(first_notes.values())
    yield from unused_metrics(experiment, given)
    if len(experiment.columns) == 1:
        yield from _of_one_text(experiment, given)
    if window and tokens is not None and tokens < window:
        yield f"training.batch_tokens={tokens} is less than one window, so each batch is one of {window} pieces"


def unused_metrics(experiment: Experiment, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield a warning for metrics of texts, given to a task without text output."""
    if "metrics" in given.get("evaluation", {}) and not experiment.task_class.answer.metrics():
        keys = ", ".join(one.key for one in experiment.task_class.measures(()))
        yield f"evaluation.metrics changes nothing: '{experiment.task.name}' is evaluated by {keys}"


def _of_one_text(experiment: Experiment, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield warnings for settings of a source, where there is none."""
    if "shared" in given.get("text", {}):
        yield "text.shared changes nothing: there is one text, and one vocabulary"
    decoder = given.get("model", {}).get("decoder", {})
    choice = experiment.model.settings.get("decoder")
    row: Any = None if choice is None else DECODERS[choice.name]
    for name in () if row is None else row.of_source:
        if isinstance(decoder, Mapping) and name in decoder:
            yield f"model.decoder.{name} changes nothing: a language model has no source"
