"""Defaults by the size of the data < file < changes → an experiment, or a list of all errors."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard.config import (
    collected_notes,
    deferred_warnings,
    lay,
    merge,
    parse_changes,
    read_settings,
    read_yaml,
    spelled,
)
from regard.config.markers import schema_of
from regard.config.merging import name_parts
from regard.data.columns import learnt_things, small_columns
from regard.data.examples import Example
from regard.data.readers import READERS, Reader
from regard.errors import ConfigError, Fault, RegardError
from regard.experiment.checks import check_model, impossible_settings, ineffective_settings, unused_metrics
from regard.experiment.corrections import as_changes, check_files, names_corrections, upgraded, with_corrections
from regard.experiment.data import by_ending, is_learnt_from
from regard.experiment.initial import (
    adaptation_defaults,
    continued,
    is_adaptation,
    named_model,
    named_run,
    named_task,
    own_languages,
    task_name_of,
    with_old_texts,
    with_text,
)
from regard.experiment.layouts import forgotten_label, has_readers, read_alike, text_settings, with_layouts
from regard.experiment.own_parts import load_parts, missing_parts, named_parts
from regard.experiment.settings import Experiment
from regard.experiment.sizes import FEW_PAIRS, LARGE_DATA, held_out_fraction, task_defaults
from regard.experiment.time_plan import pace_defaults, size_defaults
from regard.models import MODELS, Model
from regard.ops.modules import skip_init
from regard.synonyms import equivalent
from regard.tasks import TASKS, task_class
from regard.text.vocabulary import FIRST_PIECE
from regard.training.settings import LIMITS

_FIRST = 2_000  # training examples that may determine defaults


def read_experiment(
    path: Path | None,
    changes: Iterable[str] = (),
    *,
    text: str | None = None,
    start: Path | None = None,
    adapts: bool = False,
    say: Callable[[str], None] | None = None,
) -> Experiment:
    """Return the complete settings of a new run, as `plan_experiment` does."""
    return plan_experiment(path, changes, text=text, start=start, adapts=adapts, say=say).experiment


class PlannedExperiment(NamedTuple):
    """Complete settings, and the updates that their time limit allows."""

    experiment: Experiment
    updates: int | None  # None: not measured


def plan_experiment(
    path: Path | None,
    changes: Iterable[str] = (),
    *,
    text: str | None = None,
    start: Path | None = None,
    adapts: bool = False,
    say: Callable[[str], None] | None = None,
) -> PlannedExperiment:
    """Return the complete settings of a new run, which starts from the run `start`, if given.

    With `adapts` a translator is fine-tuned on other texts: those of `start` are mixed in, with defaults for that.

    A file of pairs (.tsv, .csv, .jsonl, .tmx, .po) may replace the config: it is the training set, as is `text`, which
    determines the task where nothing else does.
    With `say`, a lone time limit plans network and schedule by the speed of this machine, and reports the plan.
    Raises a ConfigError with all faults, a DataError of training files, or a CheckpointError of a run to start from.
    """
    with deferred_warnings(), _synonyms_named():
        table = path is not None and by_ending(str(path)) is not None
        file = {} if path is None or table else read_yaml(path)
        changes = [*changes]
        added = load_parts(named_parts(file, changes))
        if added and say is not None:
            say(f"parts of your own: {', '.join(added)}")
        named = merge(file, read_changes(changes))
        start = start or named_model(named)
        texts = str(path) if table else text
        if texts is not None and _are_corrections(texts, named, start):
            changes = [*as_changes(texts), *changes]
        elif texts is not None:
            changes = [*_of_text(texts, named_task(named, ""), start, table, say), *changes]
        said = with_corrections(_read(file, changes), start or named_run(named), say)
        if adapts and start is not None:
            said = with_old_texts(said, start, say)
        planned = _completed(said, {} if start is None else continued(start, said), say, adapts=adapts)
        if table and (warning := forgotten_label(planned.experiment)):
            warnings.warn(warning, stacklevel=3)
        return planned


def load_experiment(path: Path | None, changes: Iterable[str] = ()) -> Experiment:
    """Read settings that `Experiment.save` wrote, with changes. Data files may have been moved or removed."""
    return saved_experiment({} if path is None else read_yaml(path), changes)


def saved_experiment(
    saved: Mapping[str, Any], changes: Iterable[str] = (), tuned: Callable[[], list[str]] = list
) -> Experiment:
    """Return the experiment of saved settings with changes; `tuned` are the changes of `decoding.tuned`."""
    with deferred_warnings(), _synonyms_named(), _own_parts_named(saved):
        saved, changed = upgraded(saved), [*changes]
        load_parts(named_parts({}, changed))  # never those of the saved settings: the run may be another's
        settings = _read(saved, changed)
        decoding = settings.get("decoding")
        if isinstance(decoding, Mapping) and decoding.get("tuned") is True:
            settings = _read(saved, [*tuned(), *changed])
        settings, said = _with_model(settings), read_changes(changed)
        experiment = read_settings(Experiment, settings)
        laid = with_layouts(settings, experiment, parts=said.get("data", {}))
        experiment = experiment if laid == settings else read_settings(Experiment, laid)
        for line in unused_metrics(experiment, said):
            warnings.warn(line, stacklevel=2)
        return experiment


@contextmanager
def _own_parts_named(saved: Mapping[str, Any]) -> Iterator[None]:
    """Name the file of a run's own parts where one of them is unknown."""
    try:
        yield
    except ConfigError as error:
        found = missing_parts(saved, error)
        raise found from (None if found is error else error)


@contextmanager
def _synonyms_named() -> Iterator[None]:
    """Add Regard's name to errors for names of other toolkits."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError.of(map(_with_synonym, error.faults)) from error


def _with_synonym(fault: Fault) -> Fault:
    unknown = fault.problem == "there is no such setting"
    renamed = fault.hint.startswith("write ")  # a setting of an earlier Regard
    ours = equivalent(fault.place.rpartition(".")[2]) if unknown and not renamed else ""
    return fault._replace(hint=f"in Regard, for example: {ours}" if ours else fault.hint)


def _are_corrections(text: str, named: Mapping[str, Any], start: Path | None) -> bool:
    """Return whether a text holds corrections of translations, and the task has two texts."""
    task = named_task(named, "" if start is None else task_name_of(start)) or "translation"
    return task in TASKS and [*task_class(task).columns.values()] == ["text", "text"] and names_corrections(text)


def _of_text(text: str, task: str, start: Path | None, in_config: bool, say: Callable[[str], None] | None) -> list[str]:
    """Return changes that name a text, and, where `task` is "", its task.

    A table in the place of a config determines the task only for a run that starts from a task of labels or plain
    text; otherwise it holds pairs of texts.
    """
    before = "" if start is None else task_name_of(start)
    if in_config and not task:
        kind = task_class(before or "translation")
        if not has_readers(kind) and len(kind.columns) > 1:
            return text_settings(text, before or "translation")[1]
    named, data = text_settings(text, task, before=before)
    name = "".join(named).partition("=")[2]
    if start is not None and say is not None and name not in ("", before):
        say(f"{Path(text).name}: task={name}; vocabulary and network come from {start}, a run of {before}")
    elif say is not None and name == "translation":
        say(f"{Path(text).name}: two texts a row, so task=translation")
    return [*named, *data]


def read_changes(changes: Iterable[str]) -> dict[str, Any]:
    """Parse `key=value` … into nested groups; names of mechanisms are replaced by their settings."""
    return parse_changes(changes, partial(spelled, Experiment))


def count_examples(experiment: Experiment) -> int:
    """Return the number of training examples; counting ends at the largest number with an effect."""
    if experiment.data.train is None:
        raise ConfigError("data.train", "must be given")
    found = 0
    for reader in _learnt_readers(experiment):
        found += reader.count(LARGE_DATA - found)
    return found


def learnt_examples(experiment: Experiment) -> Iterator[Example]:
    """Yield all training examples, with those held out of them."""
    return chain.from_iterable(_learnt_readers(experiment))


def _learnt_readers(experiment: Experiment) -> Iterator[Reader]:
    columns = tuple(experiment.columns)
    for part, choice in experiment.data.readers().items():
        if is_learnt_from(part):
            yield READERS.build(choice, columns, place=f"data.{part}")


def _count(experiment: Experiment, part: str) -> int:
    """Return the number of all examples of a part; 0 where dev and test files make the count unnecessary."""
    choice = experiment.reader(part)
    if choice is None or (part == "train" and None not in (experiment.data.dev, experiment.data.test)):
        return 0
    return READERS.build(choice, tuple(experiment.columns), place=f"data.{part}").count()


@cache
def schema() -> dict[str, Any]:
    """Return the JSON schema of a config file."""
    found = {"title": "Regard experiment", **schema_of(Experiment)}
    for row in found["$defs"]["model"]["anyOf"]:
        if "required" in row:  # the task names the row where the settings do not
            row["required"] = [name for name in row["required"] if name != "name"]
    return found


def empty_model(experiment: Experiment) -> Model:
    """Return the model of an experiment on the meta device, almost free, with tiny vocabularies.

    Raises ConfigError for a model that does not fit the task, or whose parts do not fit together.
    """
    columns = small_columns(experiment.vocabularies, shared=experiment.text.one_vocabulary)
    try:
        with torch.device("meta"), skip_init():
            return MODELS.build(experiment.model, columns)
    except KeyError as error:
        problem = f"'{experiment.model.name}' needs the column {error}, and the task '{experiment.task.name}' has "
        hint = f"model={experiment.task_class.spec.model}, or another task"
        raise ConfigError("model", problem + ", ".join(columns), hint) from error


def _completed(
    said: dict[str, Any], base: dict[str, Any], say: Callable[[str], None] | None, *, adapts: bool = False
) -> PlannedExperiment:
    """Complete the given settings by those of a run to start from, and by defaults."""
    settings = _with_model(with_text(merge(base, said)))
    given = read_settings(Experiment, _without_open_schedule(settings))
    task = given.task_class
    faults = [*given.data.faults(tuple(given.columns)), *impossible_settings(given, said)]
    if faults:
        raise ConfigError.of(faults)
    settings = with_layouts(settings, given, say)
    given = read_settings(Experiment, _without_open_schedule(settings))
    pairs = count_examples(given)
    sizes = size_defaults(given, said, pairs, say)
    defaults = lay(sizes.settings, task_defaults(task, settings))
    if adapts and is_adaptation(given):
        defaults = lay(defaults, adaptation_defaults(given, said, pairs, _count(given, "old.train")))
        defaults["data"].pop("recombination", None)
        defaults.pop("text", None)
    elif pairs == LARGE_DATA or given.data.corpora:  # held-out sets are fractions of the whole training set alone
        share = held_out_fraction(_count(given, "train"))
        defaults["data"] |= {"dev_fraction": share, "test_fraction": share}
    _fit(defaults, given, settings.get("training", {}))
    first = (one.texts for one in islice(learnt_examples(given), _FIRST))
    defaults = lay(defaults, task.spec.defaults_by_data(first))
    if pairs < FEW_PAIRS.stop or sizes.updates:  # few pieces
        _spell_all(defaults.get("text", {}).get("tokenizer", {}), given, say if sizes.updates else None)
    try:
        experiment = read_settings(Experiment, lay(defaults, settings))
    except ConfigError:  # defaults of the task do not fit a model for other columns
        if given.model.name != task.spec.model:
            empty_model(given)
        raise
    pace = pace_defaults(experiment, said, pairs, say)
    experiment = read_settings(Experiment, lay(lay(defaults, pace.settings), settings)) if pace.settings else experiment
    with collected_notes() as notes:
        experiment, model = _with_own_languages(experiment, settings)
    if model is not None:
        check_model(experiment, model, said)
    for line in ineffective_settings(experiment, said, notes):
        warnings.warn(line, stacklevel=2)
    parts = tuple(one.absolute() for one in experiment.parts)
    return PlannedExperiment(
        replace(experiment, data=experiment.data.located(), parts=parts), sizes.updates or pace.updates
    )


def _without_open_schedule(settings: dict[str, Any]) -> dict[str, Any]:
    """Leave out a schedule without a name: it refines the default, which depends on the number of pairs."""
    training = settings.get("training")
    schedule = training.get("schedule") if isinstance(training, Mapping) else None
    if not isinstance(training, Mapping) or not isinstance(schedule, Mapping) or "name" in schedule:
        return settings
    return {**settings, "training": {name: value for name, value in training.items() if name != "schedule"}}


def _fit(defaults: dict[str, Any], given: Experiment, training: Mapping[str, Any]) -> None:
    """Restrict defaults to settings that the model has, and to the limits that `training` names."""
    known, own = MODELS.settings(given.model.name), defaults["training"]
    defaults["model"] = {"name": given.model.name} | {
        name: value for name, value in defaults["model"].items() if name in known
    }
    if tuple(given.columns) != ("source", "target") or not {"encoder", "decoder"} <= known.keys():
        defaults["data"].pop("recombination", None)
    own["metric"] = given.task_class.spec.metric
    if any(limit in training for limit in LIMITS):
        for limit in LIMITS:
            own.pop(limit, None)
    for unit, other in (("batch_sentences", "batch_tokens"), ("batch_tokens", "batch_sentences")):
        if training.get(unit) is not None:
            own[other] = None


def _spell_all(tokenizer: Any, given: Experiment, say: Callable[[str], None] | None) -> None:
    """Raise a small vocabulary size so that characters, as of Chinese, take at most half of it.

    `say` reports a size that another line has named before.
    """
    if not isinstance(tokenizer, dict) or "size" not in tokenizer:
        return
    if tokenizer["name"] in learnt_things(given.columns.values(), tokenizer["name"]):
        characters = set[str]().union(*chain.from_iterable(one.texts.values() for one in learnt_examples(given)))
        planned, tokenizer["size"] = tokenizer["size"], max(tokenizer["size"], 2 * (FIRST_PIECE + len(characters)))
        if say is not None and tokenizer["size"] > planned:
            say(f"{tokenizer['size']:,} pieces, not {planned:,}: the texts have {len(characters):,} characters")


def _read(settings: Mapping[str, Any], changes: Iterable[str]) -> dict[str, Any]:
    """Merge changes into settings. The name of a mechanism changes only the settings that it stands for."""
    changes = [*changes]
    changed = read_changes(changes)
    for group in (settings, changed):
        check_files(group)
    merged: dict[str, Any] = merge(spelled(Experiment, settings), changed)
    said = merge(settings, parse_changes(one for one in changes if one.startswith("data."))).get("data")
    if isinstance(said, Mapping) and isinstance(merged.get("data"), Mapping):
        merged["data"] = read_alike(merged["data"], said)
    return merged


def _with_model(settings: dict[str, Any]) -> dict[str, Any]:
    """Add the task's model, and its other default parts, where they are not named."""
    task = settings.get("task", "translation")
    name = task.get("name") if isinstance(task, Mapping) else task
    model = settings.get("model", {})
    if not isinstance(name, str) or name not in TASKS or not isinstance(model, Mapping):
        return settings  # unchanged; errors are raised where it is read
    kind = task_class(name)
    defaults = task_defaults(kind, settings)
    own = {"name": kind.spec.model, **defaults.get("model", {})}
    return {**name_parts(defaults, settings), "model": name_parts(own, model)}


def _with_own_languages(experiment: Experiment, settings: Mapping[str, Any]) -> tuple[Experiment, Model | None]:
    """Complete the languages with their own vocabulary; return the model on the meta device that determines them."""
    model = _small_model(experiment)
    said = "own_vocabularies" in settings.get("text", {})
    if said or model is None or not experiment.model.settings.get("languages"):
        return experiment, model
    own = own_languages(experiment, model.own_languages)
    if not own:
        return experiment, model
    experiment = replace(experiment, text=replace(experiment.text, own_vocabularies=own))
    return experiment, _small_model(experiment)


def _small_model(experiment: Experiment) -> Model | None:
    """Build the model on the meta device; None where torch refuses: the error is raised by the real build."""
    try:
        return empty_model(experiment)
    except RegardError:
        raise
    except RuntimeError:
        return None
