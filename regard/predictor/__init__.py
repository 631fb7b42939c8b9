"""Run → Predictor."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import cast

from regard.augmentations import augmentations_of
from regard.config import as_values
from regard.decoding import SEARCHES
from regard.errors import ConfigError, Fault
from regard.experiment import OPEN, ConsensusSettings, Experiment, RerankSettings
from regard.experiment.checks import too_long_sources
from regard.explain.translation_faults import fault_finder_of
from regard.memory import SentenceMatches
from regard.models import Generator, Model
from regard.models.ensemble import Ensemble
from regard.ops.memory import keep_memory
from regard.predictor.consensus import Consensus, Translate, translations_of
from regard.predictor.engines import load_export
from regard.predictor.predictor import Predictor, answers_and_losses
from regard.predictor.reranking import OWN_SCORE, Reranker
from regard.predictor.source_context import SourceContext
from regard.registry import Choice
from regard.results import Prediction
from regard.runs import Assembled, Run
from regard.runs.assembly import adequacy_of, engine_of, features_of, shortlist_of, surroundings_of
from regard.tasks import Task

__all__ = ["Predictor", "answers_and_losses", "check_open", "load", "load_routes", "predictor_of"]


ENSEMBLE = "decoding.ensemble"


def load(
    run: PathLike[str] | str,
    changes: Iterable[str] | None = None,
    *,
    engine: str | None = None,
    features: Sequence[Choice] = (),
) -> Predictor:
    """Open a run for prediction.

    >>> predictor = regard.load("runs/en-de", ["decoding.search=greedy"])

    Args:
        run: The folder of a run, or the `TrainedRun` of `regard.train`.
        changes: Settings of decoding, evaluation and device, as on the command line.
        engine: Another program that answers, a row of ENGINES: `run` is then an export, as `regard export` writes it.
        features: Rows of FEATURES that the search sums besides those of the settings.

    Returns:
        A predictor; its `run` has the settings, vocabularies and measurements.

    Raises:
        CheckpointError: The folder is missing, damaged or not from Regard.
        ConfigError: A change is of a setting that training fixed, or is not a setting.
        TypeError: `changes` is one text, not a list.
    """
    if isinstance(changes, str):
        raise TypeError(f"changes are a list of texts; one change: load(run, [{changes!r:.80}])")
    wanted = list(changes or [])
    check_open(wanted)
    if engine is not None:
        return load_export(Path(run), engine, [*wanted, *_with_features((), features)])
    opened = Run.open(Path(run), wanted)
    if features:
        opened = opened.changed([*wanted, *_with_features(opened.experiment.decoding.features, features)])
    return predictor_of(opened)


def _with_features(known: Sequence[Choice], more: Sequence[Choice]) -> list[str]:
    """Return the change of settings that adds features; none without them."""
    return [f"decoding.features={json.dumps(as_values([*known, *more]))}"] if more else []


def load_routes(run: Path | str, changes: Iterable[str]) -> dict[str, Predictor]:
    """A predictor for each pair of languages of a run, which share one model: that of data.train, "", comes first.

    Where a change names a route, that of the route alone. Raises as `load` does.
    """
    wanted = list(changes)
    check_open(wanted)
    whole = Run.open(run, wanted).assembled()
    routes = whole.run.experiment.data.routes
    return {"": _predictor(whole), **{name: _predictor(whole.along(name)) for name in routes}}


def predictor_of(run: Run) -> Predictor:
    """The model of a run that was opened, whatever its changes, ready to answer. Raises CheckpointError."""
    return _predictor(run.assembled())


def _predictor(assembled: Assembled) -> Predictor:
    keep_memory()
    model, task, run = assembled
    settings = run.experiment.decoding
    model = _with_others(assembled)
    first = not run.route  # that a run is measured with, unless settings are changed
    measured = run.measurements.alignment_head() if first else None
    task = task.along(task.route, measured or task.alignment_head)
    languages = run.experiment.data.language_pair()
    features = features_of(settings, surroundings_of(run.path, task.vocabularies, model, languages))
    engine = engine_of(settings, model, task, shortlist_of(run.path, settings, task.vocabularies), features)
    if any("max_source" in change for change in run.changes) and (
        faults := [*too_long_sources(run.experiment, model.max_source)]
    ):
        raise ConfigError.of(faults)
    alone = first and not settings.other_runs and settings.consensus is None
    found = Predictor(
        model,
        task,
        engine,
        run=run,
        settings=settings,
        search=SEARCHES.build(settings.search),
        features=features,
        adequacy=adequacy_of(run.path, settings, task.vocabularies),
        calibration=run.measurements.calibration() if alone else None,  # of this model alone
        ranking=None if settings.rerank is None else _reranker(settings.rerank, task),
        fault_finder=fault_finder_of(run.path),
        languages=languages,
    )
    found.setup.threshold = _threshold(assembled)
    found.setup.context = SourceContext(augmentations_of(run.experiment.data.source_augmentations))
    found.setup.context.term_method(settings.terms)
    if settings.consensus is not None:
        found.setup.ranking = _consensus(settings.consensus, found)
    return found


def _threshold(assembled: Assembled) -> float | None:
    """The threshold of the settings, else the tuned one. Raises ConfigError where answers are decided by none."""
    run, given = assembled.run, assembled.run.experiment.decoding.threshold
    task = assembled.task
    if given is not None:
        task.answer.checked_threshold(task.vocabularies[task.last], "decoding.threshold")
        return given
    return None if task.answer.threshold is None else run.measurements.threshold()


def _with_others(assembled: Assembled) -> Model:
    """The model itself, or one with those of the runs of the settings. Raises ConfigError where they do not fit."""
    model, task, run = assembled
    settings, changes = run.experiment.decoding, [one for one in run.changes if not one.startswith("data.")]
    if not settings.ensemble:
        return model
    if task.spec.contract is not Generator:
        problem = "joins networks that write a text word by word in one pass, and this one does not"
        raise ConfigError(ENSEMBLE, problem, "leave it out")
    others = [_member(one, changes, task, run.experiment.data.source_augmentations) for one in settings.ensemble]
    return Ensemble([cast(Generator, one) for one in (model, *others)], settings.ensemble_mean)


def _member(run: Path, changes: Sequence[str], task: Task, context: Sequence[Choice]) -> Model:
    opened = Run.open(run, changes)
    model, other, _ = opened.assembled()
    if type(other) is not type(task):
        raise ConfigError(ENSEMBLE, f"'{run}' was trained for another task", "join runs of one task")
    if other.route != task.route:
        problem = f"'{run}' has other languages, and members get the same one by name"
        raise ConfigError(ENSEMBLE, problem, "join runs of the same model.languages")
    for name, column in task.vocabularies.items():
        if other.vocabularies[name].key() != column.key():
            problem = f"'{run}' has another vocabulary of the {name}, and members share theirs"
            raise ConfigError(ENSEMBLE, problem, "train them on the same texts with the same text.tokenizer")
    if (own := opened.experiment.data.source_augmentations) != context:
        names = [", ".join(one.name for one in choices) or "none" for choices in (own, context)]
        problem = (
            f"'{run}' reads other context: its data.source_augmentations are {names[0]}, the first run's {names[1]}"
        )
        raise ConfigError(ENSEMBLE, problem, "train them with the same data.source_augmentations")
    return model


def _reranker(settings: RerankSettings, task: Task) -> Reranker:
    """Open the run that reranks. Raises ConfigError where it scores no translations, or the task writes none."""
    other = load(settings.run)
    if task.spec.translated is None or other.task.spec.translated is None or other.task.spec.contract is not Generator:
        problem = f"'{settings.run}' cannot score translations: it is not a network that writes them"
        raise ConfigError("decoding.rerank.run", problem, "the run of a translator")

    def scores(sources: Sequence[str], targets: Sequence[str], matches: SentenceMatches) -> Sequence[Prediction]:
        return other.score(sources, targets, matches=matches)

    return Reranker(scores, settings.weight, settings.words, settings.n_best)


def _consensus(settings: ConsensusSettings, own: Predictor) -> Consensus:
    """Open the other runs whose candidates join. Raises ConfigError where one does not translate."""
    if own.task.spec.translated is None or own.task.spec.contract is not Generator:
        problem = f"'{own.run.path}' cannot score the translations of others: it is not a network that writes them"
        raise ConfigError("decoding.consensus", problem, "the settings of a network, and other translators in its runs")
    if own.setup.ranking is not None:
        raise ConfigError("decoding.consensus", "cannot be used together with decoding.rerank", "one of both")

    reader = own.copy()  # hooks of explanations are on the modules of `own`

    def scores(sources: Sequence[str], targets: Sequence[str], matches: SentenceMatches | None) -> Sequence[Prediction]:
        return reader.score(sources, targets, matches=matches) if sources else ()

    others = dict[str, Translate]()
    for run in settings.runs:
        other = load(run, ["decoding.consensus=null"])  # two runs may name each other
        if other.task.spec.translated is None:
            raise ConfigError("decoding.consensus.runs", f"'{run}' does not translate", "the run of a translator")
        _check_same_languages(run, own, other)
        name = run.resolve().name
        taken = sum(one.partition(" (")[0] == name for one in (OWN_SCORE, *others))
        others[f"{name} ({taken + 1})" if taken else name] = translations_of(other, settings.n_best)
    return Consensus(scores, others, settings.weight, settings.n_best)


def _check_same_languages(run: Path, own: Predictor, other: Predictor) -> None:
    """Raise ConfigError for another run of other languages, where both are known."""
    languages = [*zip(own.setup.languages, other.setup.languages, strict=True)]
    if any(mine and theirs and mine != theirs for mine, theirs in languages):
        problem = f"'{run}' translates {' → '.join(theirs or '?' for _, theirs in languages)}"
        wanted = " → ".join(mine or "?" for mine, _ in languages)
        raise ConfigError("decoding.consensus.runs", problem, f"a translator {wanted}")


def check_open(changes: Sequence[str]) -> None:
    """Raise ConfigError for a change of what a model was trained with; an unknown setting is refused later."""
    trained = {field.name for field in fields(Experiment)} - {*OPEN}
    keys = [change.partition("=")[0].strip() for change in changes if "=" in change]
    faults = [
        Fault(key, "cannot change in a trained model", "only decoding.…, evaluation.… and device can")
        for key in keys
        if key.partition(".")[0] in trained
    ]
    if faults:
        raise ConfigError.of(faults)
