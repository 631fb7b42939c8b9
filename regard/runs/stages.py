"""The stages that set up a training: Prepared → Built → Started → Validated. Each takes the ones before it.

What a start refuses, and counts for embedders, stand here, too.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config import settings_file
from regard.data import READERS
from regard.data.columns import Columns
from regard.data.manifest import note_file, verify_file
from regard.data.streams import Stream, first_epoch
from regard.decoding import GreedySearch
from regard.errors import CheckpointError, ConfigError
from regard.evaluation.metric import Statistics
from regard.experiment import Experiment
from regard.experiment.data import OldTextSettings
from regard.layers.embedders import Embedder
from regard.models import MODELS, Model
from regard.objectives import Objective
from regard.ops.modules import count_parameters, skip_init
from regard.runs.adaptation import START_FILE, Adaptation, OldText, first_statistics, start_is_due
from regard.runs.assembly import objective_of
from regard.runs.embeddings import fill_embedders
from regard.runs.folder import RunFolder
from regard.runs.initial import (
    TakenTensor,
    check_foundation,
    freeze,
    initial_values,
    is_whole,
    keep_frozen,
    kept_frozen,
    origin_of,
    start_from,
    taken_columns,
    train_biases_alone,
)
from regard.runs.rehearsal import Rehearsal
from regard.runs.resuming import check_resumed, origins_of
from regard.runs.run import Run, model_of, routed, task_of
from regard.runs.texts import dev_examples, held_out, learn_run_columns, old_dev_examples, training_batches
from regard.runs.training_links import training_links
from regard.runs.validation import Validation, Validations
from regard.tasks import Examples, Task
from regard.tasks.task import measure_of
from regard.training.progress import Progress
from regard.training.world import World

_OF_TWO_SIDES = ("translation", "phrases")  # tasks that learn the target of a source
_COMPARED = 20_000  # first pairs whose sides are compared
_COUNTED = 50_000  # parameters that are worth a line: phrases have a weight for each feature


class Prepared(NamedTuple):
    """Rehearsed settings, a locked folder, and its columns: learnt now, or those of the resumed run."""

    experiment: Experiment
    before: Experiment  # the saved settings; the same for a new run
    folder: RunFolder
    columns: Columns
    rehearsal: Rehearsal
    progress: Progress
    world: World
    origin: Run | None = None  # the run to start from, where it was opened for its vocabularies

    @property
    def say(self) -> Callable[[str], None]:
        """Function that prints a line, unless quiet."""
        return self.progress.say

    @property
    def new(self) -> bool:
        """True until training has saved something."""
        return not self.folder.started

    @property
    def frozen(self) -> bool:
        """True if weights taken from another run are frozen."""
        return self.experiment.init is not None and self.experiment.init.frozen


class Built(NamedTuple):
    """The initialised model, its task, and the tensors to take from another run."""

    model: Model
    task: Task
    routes: Mapping[str, str]  # of training corpora, by name
    taken: list[TakenTensor]
    kept: list[str] | None  # names of frozen tensors of a resumed run


class Started(NamedTuple):
    """The model before its first update, the training texts, and the dev set."""

    batches: Stream
    examples: Examples | None


class Validated(NamedTuple):
    """The training objective, and the validation."""

    objective: Objective
    validation: Validation | Validations | Adaptation | None
    higher_is_better: bool  # of the metric of early stopping
    continues: bool  # from complete weights, which are ranked as a checkpoint, too
    halvings: int  # times that batches must be halved to fit into memory


def prepared(
    experiment: Experiment,
    progress: Progress,
    world: World,
    *,
    resume: bool,
    opened: Run | None,
    held: ExitStack,
    making: ExitStack,
) -> Prepared:
    """Rehearse, and let the first process make folder and vocabularies, which the others open.

    `opened` is the resumed run, where it is open already. `held` holds the lock of the folder; a new folder is removed
    if anything fails before `making` is closed.
    """
    folder = RunFolder(progress.path.parent)
    if resume:
        experiment = replace(experiment, data=experiment.data.located())
    rehearsal = Rehearsal(experiment)
    ready = partial(Prepared, experiment, folder=folder, rehearsal=rehearsal, progress=progress, world=world)
    if not world.first:
        return ready(before=experiment, columns=(opened or Run.open(folder)).vocabularies)
    rehearsal.check_memory()
    rehearsal.check_parts(starts=not resume)
    before = experiment
    if not resume:
        _check_sides_differ(experiment)
        held.enter_context(folder.created())
        making.enter_context(folder.preparing(experiment))
    else:
        settings_file(folder.path)  # raises before a lock is left in a folder that is not a run
        held.enter_context(folder.held())
        saved = Run.open(folder) if opened is None else opened.changed(())
        check_resumed(rehearsal, saved, progress.say)
        _open_log(progress)  # before a training that starts again empties it
        before = saved.experiment
        if folder.started:
            for change in folder.changed_environment():
                progress.warn(f"{change}: the weights may differ in their last bits from an unbroken run")
            return ready(before=before, columns=saved.vocabularies)
        progress.warn(f"{folder} has no checkpoint: training starts from the beginning")
    origin = origin_of(experiment)
    columns = _learnt_columns(experiment, folder, origin, progress)
    return ready(before=before, columns=columns, origin=origin)


def check_start(experiment: Experiment, columns: Columns | None = None) -> Columns:
    """Raise what would end a new run before its first update; return its columns, which are learnt unless given.

    Nothing is kept: the run learns its columns itself.
    """
    rehearsal = Rehearsal(experiment)
    rehearsal.check_memory()
    rehearsal.check_parts(starts=True)
    _check_sides_differ(experiment)
    if columns is None:
        with TemporaryDirectory() as place:
            folder = RunFolder(Path(place))
            known = taken_columns(experiment, folder, origin_of(experiment), _quiet)
            columns = learn_run_columns(experiment, folder, _quiet, known)
    with torch.device("meta"), skip_init():
        MODELS.build(experiment.model, columns)
    dev_examples(experiment, task_of(experiment, columns), _quiet)
    return columns


def built(ready: Prepared) -> Built:
    """Build the model with its task on all routes, and find the tensors to take from another run."""
    experiment, columns = ready.experiment, ready.columns
    model = model_of(experiment, columns).to(ready.world.device)
    task = routed(task_of(experiment, columns), model, experiment)
    kept = kept_frozen(ready.folder) if ready.frozen and not ready.new else None
    takes = experiment.init is not None and (ready.new or (ready.frozen and kept is None))
    origin = ready.origin or (origin_of(experiment) if takes else None)
    taken = initial_values(experiment, model, columns, origin, ready.say) if takes else []
    views = {name: view for name, view in experiment.views().items() if view.data.train}
    routes = {name: routed(task, model, view).route for name, view in views.items()}
    return Built(model, task, routes, taken, kept)


def started(ready: Prepared, made: Built) -> Started:
    """Open the corpora, and initialise a new model: with taken, counted or fitted values."""
    model, task, routes, taken, kept = made
    batches = training_batches(ready.experiment, ready.folder, task, ready.say, routes)
    dev, test, *_ = held_out(ready.experiment)
    if dev + test:
        ready.say(f"beside these, {dev:.0%} of the examples are held out as dev set, {test:.0%} as test set")
    examples = dev_examples(ready.experiment, task, ready.say)
    if ready.new:
        check_foundation(ready.experiment, model, taken)
        count_for_embedders(model, batches)
        fill_embedders(model, [task.along(route) for route in routes.values()], ready.say)
        task.fit(model, batches, examples, ready.say)
        start_from(model, taken)
    if ready.frozen:
        names = [one.name for one in taken] if kept is None else kept
        freeze(model, names, routes)
        if ready.new and ready.world.first:
            keep_frozen(ready.folder, names)
    if ready.experiment.training.trained == "biases":
        train_biases_alone(model)
    return Started(batches, examples)


def validated(ready: Prepared, made: Built, begun: Started) -> Validated:
    """Build validation and objective."""
    experiment, folder, model, task = ready.experiment, ready.folder, made.model, made.task
    validation: Validation | Validations | Adaptation | None
    validation = _validation(experiment, model, task, begun.examples, ready.say)
    mapped = experiment.init is not None and experiment.init.own_vocabulary  # its start speaks no language
    continues = not mapped and (is_whole(model, made.taken) or experiment.data.old is not None)
    if isinstance(validation, Validation) and _is_adapted(ready, continues=continues):
        validation = _adaptation(experiment, task, validation, folder, ready.say)
    count, world = count_parameters(model), ready.world
    several = f" in each of {world.size} processes" if world.size > 1 else ""
    size = f"{count / 1e6:.1f} M parameters on {world.device}{several}, "
    ready.say(f"{size if count >= _COUNTED else ''}run {folder}")
    links = partial(training_links, experiment, folder, ready.columns, ready.say)
    objective = objective_of(experiment, model, task, links).to(world.device)
    higher = measure_of(task, experiment.training.metric).higher_is_better is True
    halvings = ready.rehearsal.halvings(world.device) if ready.new else 0
    return Validated(objective, validation, higher, continues, halvings)


def _adaptation(
    experiment: Experiment, task: Task, new: Validation, folder: RunFolder, say: Callable[[str], None]
) -> Adaptation:
    """Return the validation on new and on old text. The baseline of old text may be that of an earlier adaptation."""
    examples = old_dev_examples(experiment, task, say)
    settings = experiment.data.old or OldTextSettings()
    metric = settings.metric or experiment.training.metric
    measure, of_old = measure_of(task, experiment.training.metric), measure_of(task, metric)
    if examples is None:
        return Adaptation(new, measure, folder, significant=settings.significant)
    old = OldText(new.on(examples, of_old), of_old, settings.tolerance)
    return Adaptation(new, measure, folder, old, significant=settings.significant, first=_first(experiment, old))


def _first(experiment: Experiment, old: OldText) -> Statistics | None:
    """Return statistics of old text by the weights from which the run to start from was adapted.

    None unless that run measured the same texts by the same metric: a loss must not add up over adaptations. A resumed
    run has them itself, so the other one may be gone.
    """
    init = experiment.init
    if init is None or init.run is None or not init.run.exists():
        return None
    before = Run.open(init.run)
    same = before.experiment.data.old == experiment.data.old
    same = same and before.experiment.training.metric == experiment.training.metric
    return first_statistics(before.folder, old, same_settings=same)


def selects_by_choice(validation: object) -> bool:
    """Return whether checkpoints are selected by a score of its own, in which more than the dev set counts."""
    return isinstance(validation, Adaptation) and validation.has_old


def _is_adapted(ready: Prepared, *, continues: bool) -> bool:
    """Return whether the run is compared with the weights that it started from."""
    folder = ready.folder
    kept = (folder.path / START_FILE).is_file() or start_is_due(folder)
    return continues if ready.new else kept or ready.experiment.data.old is not None


def _learnt_columns(experiment: Experiment, folder: RunFolder, origin: Run | None, progress: Progress) -> Columns:
    """Begin a run: save its origins, and learn its columns."""
    progress.cut(0)
    folder.begin(origins_of(experiment), None if origin is None else origin.path)
    known = taken_columns(experiment, folder, origin, progress.say)
    columns = learn_run_columns(experiment, folder, progress.say, known)
    folder.seal()
    return columns


def _quiet(line: str) -> None:
    """Print nothing."""


def _open_log(progress: Progress) -> None:
    """Open the log of a run for appending; warn where it has changed since the last training."""
    try:
        verify_file(progress.path, "its lines are only informative, and training continues without them")
    except CheckpointError as error:
        progress.warn(str(error))
    note_file(progress.path, settled=False)


def _validation(
    experiment: Experiment, model: Model, task: Task, examples: Examples | None, say: Callable[[str], None]
) -> Validation | Validations | None:
    """Return the validation of the model on the dev set, given as `examples`, and on those of all routes."""
    tokens, found = experiment.decoding.batch_tokens, dict[str, Validation]()
    steering = measure_of(task, experiment.training.metric)
    measures = [*task.likelihoods(), *(measure_of(task, key) for key in task.spec.validates)]  # TER would take longer
    measures += [] if steering.key in (one.key for one in measures) else [steering]
    for name, view in experiment.views().items():
        kind = routed(task, model, view)
        if name != "train":
            examples = dev_examples(view, kind, say) if view.data.dev or view.data.train else None
        if examples is not None:
            engine = kind.engine(model, GreedySearch())
            key = name if name != "train" else kind.route
            found[key] = Validation(model, kind, engine, examples, measures, batch_tokens=tokens, say=say)
    return Validations(found) if len(found) > 1 else next(iter(found.values()), None)


def _check_sides_differ(experiment: Experiment) -> None:
    """Raise ConfigError for a translator whose source and target are one text: it would only learn to copy.

    Transforms such as noise, further corpora and routes are exceptions.
    """
    data, choice = experiment.data, experiment.reader("train")
    if experiment.task.name not in _OF_TWO_SIDES or choice is None or data.transforms or data.corpora or data.routes:
        return
    if choice.settings.keys().isdisjoint(("file", "files")):  # such as the copying task, generated on purpose
        return
    reader = READERS.build(choice, tuple(experiment.columns), place="data.train")
    same = [len({*map(str, one.texts.values())}) == 1 for one in islice(reader, _COMPARED)]
    if same and all(same):
        hint = "name its translation; for a denoising autoencoder: data.transforms=noise"
        raise ConfigError("data.train.target", f"'{reader.names[-1]}' is the same text as the source", hint)


WAITING = 2**22  # numbers that are buffered before they are sorted: 32 MB


def count_for_embedders(model: Model, batches: Stream) -> None:
    """Count the ids that each embedder reads in the first epoch of `batches`, and pass it the counts.

    `model.reads(batch)` returns embedders with their ids. Where no embedder needs counts, only one batch is read.
    """
    tallies: dict[Embedder, list[_Tally]] = {}
    for batch in first_epoch(batches):
        found = [(embedder, embedder.counted(ids)) for embedder, ids in model.reads(batch)]
        for embedder, kinds in found:
            known = tallies.setdefault(embedder, [_Tally() for _ in kinds])
            for tally, numbers in zip(known, kinds, strict=True):
                tally.add(numbers)
        if not any(kinds for _, kinds in found):
            break
    for embedder, known in tallies.items():
        embedder.learn([tally.counts() for tally in known])


class _Tally:
    """Counts of numbers."""

    def __init__(self) -> None:
        self.numbers, self.often = torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)
        self.waiting: list[Tensor] = []
        self.room = WAITING

    def add(self, numbers: Tensor) -> None:
        """Count more numbers."""
        self.waiting.append(numbers.flatten())
        self.room -= numbers.numel()
        if self.room < 0:
            self.counts()

    def counts(self) -> tuple[Tensor, Tensor]:
        """Return the numbers so far in ascending order, and the count of each."""
        new = torch.cat([torch.zeros(0, dtype=torch.int64), *self.waiting])
        self.numbers, places = torch.cat([self.numbers, new]).unique(return_inverse=True)
        often = torch.cat([self.often, torch.ones_like(new)])
        self.often = torch.zeros_like(self.numbers).scatter_add_(0, places, often)
        self.waiting, self.room = [], WAITING
        return self.numbers, self.often
