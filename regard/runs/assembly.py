"""Builders of a model's surroundings: its search with features and a shortlist, and its objective."""

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import torch

from regard.data.columns import Columns
from regard.data.packing import chunks
from regard.decoding import FEATURES, SEARCHES, Answering, Feature, SearchEngine
from regard.decoding.features.feature import Surroundings
from regard.decoding.shortlist import SHORTLIST_FILE, Shortlist
from regard.errors import ConfigError
from regard.experiment import DecodingSettings, Experiment
from regard.explain.adequacy import ADEQUACIES, Adequacy
from regard.models import Model
from regard.objectives import OBJECTIVES, Context, Objective, PenalisedObjective, build_penalties
from regard.objectives.likelihood import LikelihoodObjective
from regard.objectives.objective import LabelProbabilities, PairLinks
from regard.objectives.sub_batch import check_norms
from regard.registry import Choice
from regard.runs.folder import TUNING
from regard.runs.run import Run
from regard.tasks import Task
from regard.text.clean import clean


def features_of(settings: DecodingSettings, run: Surroundings | None = None) -> list[Feature]:
    """Return the log-linear features that every search sums; without a run those that read no tables."""
    features = [FEATURES.build(choice) for choice in settings.features]
    return [one for one in features if not one.reads_tables] if run is None else [one.bind(run) for one in features]


def surroundings_of(
    folder: Path, columns: Columns, model: Model, languages: tuple[str | None, str | None]
) -> Surroundings:
    """Return the data of a run that features may read."""

    def open_run(path: Path) -> tuple[Model, Columns]:
        model, task, _ = Run.open(path).assembled()
        return model, task.vocabularies

    return Surroundings(columns, model, folder / TUNING, open_run, languages)


def shortlist_of(folder: Path, settings: DecodingSettings, columns: Columns) -> Shortlist | None:
    """Return a run's lexical shortlist, where the settings name one.

    Raises CheckpointError where none was learnt, ConfigError for a model that does not translate.
    """
    if not settings.shortlist:
        return None
    check_translates(columns, "decoding.shortlist")
    sizes = len(columns["source"]), len(columns["target"])
    return Shortlist.load(folder / SHORTLIST_FILE, *sizes, vocabularies_key(columns))


def vocabularies_key(columns: Columns) -> str:
    """Return a SHA-256 of everything that determines the ids of source and target."""
    keys = [columns[name].key() for name in ("source", "target")]
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()


def adequacy_of(folder: Path, settings: DecodingSettings, columns: Columns) -> Adequacy | None:
    """Return the check for words that a run's translations omit, where the settings name one.

    Raises ConfigError for a model that does not translate, CheckpointError where the check must be learnt first.
    """
    if settings.adequacy is None:
        return None
    check_translates(columns, ADEQUACIES.place)
    return ADEQUACIES.build(settings.adequacy, folder)


def check_translates(columns: Columns, setting: str) -> None:
    """Raise ConfigError for a setting that needs a model that translates."""
    if not {"source", "target"} <= columns.keys():
        raise ConfigError(setting, "is for models that translate, and this one does not", "leave it out")


def engine_of(
    settings: DecodingSettings,
    model: Model,
    task: Task,
    shortlist: Shortlist | None = None,
    features: Sequence[Feature] | None = None,
) -> Answering:
    """Return the engine of a model: the search of the settings with features, restricted to the words of a shortlist.

    `features` None: those of the settings that read no tables. Raises ConfigError for a shortlist without a search over
    a network.
    """
    engine = task.engine(
        model, SEARCHES.build(settings.search), features_of(settings) if features is None else features
    )
    if shortlist is None:
        return engine
    if not isinstance(engine, SearchEngine):
        raise ConfigError(
            "decoding.shortlist", "is for searches over a network, and this model has none", "leave it out"
        )
    return SearchEngine(engine.writer, engine.search, engine.features, shortlist)


def objective_of(
    experiment: Experiment, model: Model, task: Task, links: Callable[[Choice], PairLinks] | None = None
) -> Objective:
    """Return the training objective with the penalties of the settings; `links` are those of the training pairs."""
    search, load = SEARCHES.build(experiment.decoding.search), partial(_other_model, model, task)
    context = Context(model, task, search, experiment.training.compile, load, links, classifier_of)
    objective = OBJECTIVES.build(experiment.objective, context)
    if model.has_joint_loss and not isinstance(objective, LikelihoodObjective):
        problem = f"'{experiment.objective.name}' would leave out the first pass's loss, which model.joint adds"
        raise ConfigError("objective", problem, "objective=likelihood, or model.joint=0")
    check_norms(experiment.objective.name, objective)
    penalties = build_penalties(experiment.penalties)
    return PenalisedObjective(objective, penalties) if penalties else objective


def classifier_of(run: Path) -> LabelProbabilities:
    """Return a function that gives label probabilities of texts by a run's classifier; longer texts are truncated.

    Raises ConfigError for a run of another kind.
    """
    model, task, opened = Run.open(run).assembled()
    experiment = opened.experiment
    if task.answer.ranking is None or len(task.inputs) > 1:
        raise ConfigError("objective.rewards.teacher", f"'{run}' is not a text classifier", "a run of one")
    engine = engine_of(experiment.decoding, model, task)
    longest = min(one for one in (experiment.decoding.max_source, engine.max_source) if one is not None) - 1  # and END

    @torch.no_grad()
    def open_classifier(texts: Sequence[str]) -> list[Mapping[str, float]]:
        whole, found = task.encode([task.texts.given(clean(text)) for text in texts]), dict[int, Mapping[str, float]]()
        rows = [{name: ids[:longest] for name, ids in row.items()} for row in whole]
        lengths = [max(map(len, row.values())) + 1 for row in rows]
        for places in chunks(lengths, experiment.decoding.batch_tokens):
            batch = task.batch([rows[place] for place in places]).to(model.device)
            probabilities = (one.label_probabilities() for one in task.predict(engine, batch))
            found |= zip(places.tolist(), probabilities, strict=True)
        return [found[place] for place in range(len(rows))]

    return open_classifier


def _other_model(model: Model, task: Task, run: Path) -> Model:
    """Return the model of another run. Raises ConfigError where its ids or its languages differ from those here.

    In a rehearsal, whose vocabularies are not those of the run, it is a copy of `model`.
    """
    other = Run.open(run)
    columns = other.vocabularies
    if any(column.stands_in for column in task.learnt.values()):
        return copy.deepcopy(model)
    for name, column in task.learnt.items():
        if name not in columns or columns[name].key() != column.key():
            problem = f"'{run}' has another vocabulary of the {name}, and distillation needs equal ids"
            raise ConfigError("objective", problem, "train both on the same texts with the same text, or init.run")
    found = other.assembled().model
    if found.languages != model.languages:
        languages = ", ".join(found.languages) or "one language"
        raise ConfigError("objective", f"'{run}' translates into {languages}", "a run of the same model.languages")
    return found
