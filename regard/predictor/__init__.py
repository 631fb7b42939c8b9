"""Run → Predictor."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from regard.decoding import SEARCHES
from regard.errors import ConfigError, Fault
from regard.experiment import OPEN, Experiment, RerankSettings, too_long_sources
from regard.explain.translation_faults import fault_finder_of
from regard.models import Generator
from regard.predictor.ensemble import with_others
from regard.predictor.predictor import Predictor
from regard.predictor.reranking import Reranker
from regard.runs import RunFolder, assemble
from regard.runs.assembly import Assembled, adequacy_of, engine_of, features_of, shortlist_of, surroundings_of
from regard.runs.measurements import alignment_head_of, calibration_of
from regard.tasks import Task

__all__ = ["Predictor", "load", "load_routes"]


def load(run: Path | str, changes: Iterable[str] | None = None) -> Predictor:
    """The model of a run folder, ready to answer; `changes` such as ["decoding.search=greedy"] as on the command line.

    Raises CheckpointError where the folder is missing, damaged or foreign, ConfigError for a change of what the model
    was trained with, TypeError for a change that stands in no list.
    """
    if isinstance(changes, str):
        raise TypeError(f"changes are a list of texts; one change: load(run, [{changes!r:.80}])")
    wanted = list(changes or [])
    _check_open(wanted)
    folder = RunFolder(Path(run))
    return _predictor(folder, assemble(folder, wanted), wanted)


def load_routes(run: Path | str, changes: Iterable[str]) -> dict[str, Predictor]:
    """A predictor for each pair of languages of a run, which share one model: that of data.train, "", comes first.

    Where a change names a route, that of the route alone. Raises as `load` does.
    """
    wanted = list(changes)
    _check_open(wanted)
    folder = RunFolder(Path(run))
    whole = assemble(folder, wanted)
    views = whole.experiment.views().items()
    return {"" if name == "train" else name: _predictor(folder, whole.along(view), wanted) for name, view in views}


def _predictor(folder: RunFolder, assembled: Assembled, wanted: list[str]) -> Predictor:
    model, task, experiment = assembled
    settings = experiment.decoding
    model = with_others(model, task, settings, wanted)
    first = _is_first_pair(folder, experiment)  # that a run is measured with, unless settings are changed
    task.alignment_head = (alignment_head_of(folder) if first else None) or task.alignment_head
    task.fault_finder = fault_finder_of(folder.path)
    features = features_of(settings, surroundings_of(folder, task.vocabularies))
    engine = engine_of(settings, model, task, shortlist_of(folder, settings, task.vocabularies), features)
    if any("max_source" in change for change in wanted) and (
        faults := [*too_long_sources(experiment, model.max_source)]
    ):
        raise ConfigError.of(faults)
    return Predictor(
        model,
        task,
        engine,
        search=SEARCHES.build(settings.search),
        features=features,
        adequacy=adequacy_of(folder, settings, task.vocabularies),
        calibration=calibration_of(folder)
        if first and not (settings.ensemble or settings.rerank)
        else None,  # of this model alone
        batch_tokens=settings.batch_tokens,
        max_source=settings.max_source,
        term_cost=settings.term_cost,
        reranker=None if settings.rerank is None else _reranker(settings.rerank, task),
        languages=experiment.data.language_pair(),
    )


def _reranker(settings: RerankSettings, task: Task) -> Reranker:
    """Open the run that ranks anew. Raises ConfigError where it scores no translations, or the task writes none."""
    other = load(settings.run)
    if task.translated is None or other.task.translated is None or other.task.contract is not Generator:
        problem = f"'{settings.run}' is to score translations, and is no network that writes them"
        raise ConfigError("decoding.rerank.run", problem, "the run of a translator")
    return Reranker(other.score, settings.weight, settings.words, settings.n_best)


def _is_first_pair(folder: RunFolder, experiment: Experiment) -> bool:
    """Return whether settings, perhaps of one route, are those of the pair of languages of data.train."""
    return experiment.decoding.route not in folder.experiment().data.routes


def _check_open(changes: list[str]) -> None:
    """What is no setting at all is told when the changes are read."""
    trained = {field.name for field in fields(Experiment)} - {*OPEN}
    keys = [change.partition("=")[0].strip() for change in changes if "=" in change]
    faults = [
        Fault(key, "cannot change in a trained model", "only decoding.…, evaluation.… and device can")
        for key in keys
        if key.partition(".")[0] in trained
    ]
    if faults:
        raise ConfigError.of(faults)
