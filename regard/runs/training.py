"""From settings to a trained run."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import torch

from regard.config import quoted
from regard.data.columns import Columns
from regard.data.manifest import note_file, verify_file
from regard.data.streams import Stream
from regard.decoding import GreedySearch
from regard.errors import CheckpointError, ConfigError
from regard.experiment import Experiment, read_experiment, settings_file
from regard.experiment.few_pairs import phrases_advice
from regard.models import Model
from regard.models.counting import count_for_embedders
from regard.objectives import Objective
from regard.ops import machine
from regard.ops.memory import keep_memory
from regard.ops.plain import is_plain
from regard.ops.timings import timings
from regard.runs.assembly import objective_of
from regard.runs.embeddings import fill_embedders
from regard.runs.folder import RunFolder, choose_device
from regard.runs.initial import (
    check_foundation,
    freeze,
    initial_values,
    is_whole,
    keep_frozen,
    kept_frozen,
    origin_of,
    start_from,
    taken_columns,
)
from regard.runs.memory_plan import check_weights, halvings
from regard.runs.rehearsal import rehearse
from regard.runs.resuming import check_resumed, origins_of
from regard.runs.run import Run, model_of, routed, task_of
from regard.runs.teaching import CHOICE, Teaching, corrections_of
from regard.runs.texts import dev_examples, learn_run_columns, training_batches
from regard.runs.training_links import training_links
from regard.runs.validation import Validation, Validations
from regard.tasks import Examples, Measure, Task
from regard.training.checkpoint import step_folder
from regard.training.interrupt import Interrupted
from regard.training.progress import Progress
from regard.training.trainer import Report, Trainer
from regard.training.world import World, joined_world


def train(
    config: Path | str | None = None,
    changes: Sequence[str] = (),
    *,
    source: Path | str | None = None,
    target: Path | str | None = None,
    text: Path | str | None = None,
    run: Path | str | None = None,
    start: Path | str | None = None,
    quiet: bool = False,
) -> Path:
    """Trains a model; returns its run folder, for `regard.load`.

    >>> regard.train(source="train.en", target="train.de", run="runs/en-de")

    A language model learns from a `text`, a classifier from a table or a folder of labels and texts there. With
    `start`, the model of that run goes on learning. `changes` are settings as on the command line:
    "training.max_minutes=10".
    Raises RegardError for what is wrong.
    """
    given = {"data.train.source": source, "data.train.target": target, "run": run}
    words = [f"{name}={quoted(str(value))}" for name, value in given.items() if value is not None]
    file, origin = (None if one is None else Path(one) for one in (config, start))
    say = partial(print, file=sys.stderr, flush=True) if not quiet else lambda line: None
    told = None if text is None else str(text)
    experiment = named(read_experiment(file, [*changes, *words], text=told, start=origin, say=say))
    train_run(experiment, quiet=quiet)
    return run_of(experiment).path


def train_run(experiment: Experiment, *, resume: bool = False, quiet: bool = False) -> bool:
    """Trains until a limit is reached; False when it was interrupted and has saved. Raises RegardError.

    A new run that cannot be prepared leaves no folder behind. To resume a run that had saved nothing yet is to begin.
    Under torchrun every process calls it, and all train one model.
    """
    keep_memory()
    if experiment.decoding.route is not None:
        raise ConfigError("decoding.route", "is for a trained model: training is on all routes", "leave it out")
    with joined_world(choose_device(experiment.device)) as world:
        experiment = world.agree(named(experiment))
        folder = run_of(experiment)
        progress = Progress(folder.path, quiet=quiet, silent=not world.first)
        with ExitStack() as stack:
            stack.enter_context(_settled_machine(experiment, world, progress))
            with ExitStack() as making:
                parts = world.in_order(lambda: _prepared(experiment, folder, progress, world, resume, stack, making))
                trainer = _trainer(parts, folder, progress, world).prepare(resume=folder.started)
            world.by_first(lambda: folder.keep(parts.experiment, parts.before))
            if advice := phrases_advice(parts.experiment):
                progress.say(advice)
            try:
                report = trainer.train()
                world.by_first(lambda: note_file(progress.path, settled=True))
            except Interrupted as interrupted:
                torchrun = f"torchrun --nproc_per_node={world.size} -m " if world.size > 1 else ""
                option = "" if torchrun else "--run "  # which torchrun would take for its own
                command = f"{torchrun}regard train {option}{quote(str(folder))} --resume"
                progress.say(f"{interrupted}; go on with: {command}")
                return False
            _tell(report, folder, parts, progress)
            if advice:
                progress.say(advice)
            return True


def _open_log(progress: Progress) -> None:
    """Have the log of a run grow again; warn where it is not as training left it."""
    try:
        verify_file(progress.path, "its lines are for reading alone, training goes on without them")
    except CheckpointError as error:
        progress.warn(str(error))
    note_file(progress.path, settled=False)


@contextmanager
def _settled_machine(experiment: Experiment, world: World, progress: Progress) -> Iterator[None]:
    """Choose threads, and who computes products, by the settings or by what was measured; inside `plain()` nothing.

    The first process measures before the others, which would slow it down.
    """
    before, settings = torch.get_num_threads(), experiment.training
    if world.device.type != "cpu" or is_plain():
        yield
        return
    fixed = machine.fix(settings.products)
    try:
        threads = machine.choose_threads(settings.threads, world.in_order(timings))
        if threads < before and settings.threads == "auto":
            progress.say(f"trains on {threads} of {before} threads: more are no faster here (regard doctor)")
        yield
    finally:
        machine.fix(fixed)
        torch.set_num_threads(before)


def run_of(experiment: Experiment) -> RunFolder:
    """Where an experiment's model goes; it must be `named`."""
    return RunFolder(experiment.run or Path("runs"))


def named(experiment: Experiment) -> Experiment:
    """With a run folder: after the languages and the time, where none is given."""
    if experiment.run is not None:
        return experiment
    languages = "-".join(code for code in experiment.data.language_pair() if code) or "run"
    return replace(experiment, run=Path("runs") / f"{languages}-{time.strftime('%Y%m%d-%H%M%S')}")


class _Parts(NamedTuple):
    """What a trainer is made of."""

    experiment: Experiment
    before: Experiment  # as the run was saved; the same for a new one
    model: Model
    objective: Objective
    batches: Stream
    validation: Validation | Validations | Teaching | None
    higher_is_better: bool  # of the metric that steers
    continues: bool  # from weights that are whole, so that they are ranked, too
    halvings: int  # times that batches must be halved to fit into memory


def _prepared(
    experiment: Experiment,
    folder: RunFolder,
    progress: Progress,
    world: World,
    resume: bool,
    stack: ExitStack,
    making: ExitStack,
) -> _Parts:
    """The parts of a training. The first process makes folder, vocabularies and corpus, which the others open.

    `stack` holds the lock of the folder; a new folder is removed if anything fails before `making` is closed.
    """
    if resume:
        experiment = replace(experiment, data=experiment.data.located())
    if not world.first:
        return _parts(experiment, experiment, folder, Run.open(folder).vocabularies, progress, world)
    check_weights(experiment)
    rehearse(experiment, starts=not resume)
    if resume:
        settings_file(folder.path)  # else no lock is left in a folder that is no run
        stack.enter_context(folder.held())
        saved = Run.open(folder)
        check_resumed(experiment, saved, progress.say)
        _open_log(progress)  # before a training that begins anew empties it
        if not folder.started:
            progress.warn(f"{folder} has no checkpoint: training begins anew")
        before = saved.experiment
        if folder.started:
            for change in folder.changed_environment():
                progress.warn(f"{change}: the weights may differ in their last bits from those of an unbroken run")
            return _parts(experiment, before, folder, saved.vocabularies, progress, world)
    else:
        stack.enter_context(folder.created())
        making.enter_context(folder.preparing(experiment))
        before = experiment
    return _parts(experiment, before, folder, _learnt_columns(experiment, folder, progress), progress, world)


def _parts(
    experiment: Experiment, before: Experiment, folder: RunFolder, columns: Columns, progress: Progress, world: World
) -> _Parts:
    model = model_of(experiment, columns).to(world.device)
    task = routed(task_of(experiment, columns), model, experiment)
    new = not folder.started
    frozen = experiment.init is not None and experiment.init.frozen
    kept = kept_frozen(folder) if frozen and not new else None
    takes = experiment.init is not None and (new or (frozen and kept is None))
    taken = initial_values(experiment, model, columns, origin_of(experiment), progress.say) if takes else []
    views = {name: view for name, view in experiment.views().items() if view.data.train}
    routes = {name: routed(task, model, view).route for name, view in views.items()}
    batches = training_batches(experiment, folder, task, progress.say, routes)
    if new:
        check_foundation(experiment, model, taken)
        count_for_embedders(model, batches)
        fill_embedders(model, [task.along(route) for route in routes.values()], progress.say)
        start_from(model, taken)
    if frozen:
        names = [one.name for one in taken] if kept is None else kept
        freeze(model, names, routes)
        if new and world.first:
            keep_frozen(folder, names)
    examples = dev_examples(experiment, task, progress.say)
    if new:
        task.fit(model, batches, examples, progress.say)
    validation: Validation | Validations | Teaching | None
    validation = _validation(experiment, model, task, examples, progress.say)
    corrected = corrections_of(experiment, task)
    if corrected is not None:
        validation = Teaching(validation, model, task, corrected, experiment, folder)
    count = sum(parameter.numel() for parameter in model.parameters())
    several = f" in each of {world.size} processes" if world.size > 1 else ""
    progress.say(f"{count / 1e6:.1f} M parameters on {world.device}{several}, run {folder}")
    links = partial(training_links, experiment, folder, columns, progress.say)
    objective = objective_of(experiment, model, task, links).to(world.device)
    taught = isinstance(validation, Teaching)
    higher_is_better = taught or task.measure(experiment.training.metric).higher_is_better is True
    halved = halvings(experiment, world.device) if new else 0
    return _Parts(
        experiment, before, model, objective, batches, validation, higher_is_better, is_whole(model, taken), halved
    )


def _validation(
    experiment: Experiment, model: Model, task: Task, examples: Examples | None, say: Callable[[str], None]
) -> Validation | Validations | None:
    """What judges the model by the dev part, whose `examples` are given, and by those of all routes."""
    tokens, measures, found = experiment.decoding.batch_tokens, _measures(experiment, task), dict[str, Validation]()
    for name, view in experiment.views().items():
        kind = routed(task, model, view)
        if name != "train":
            examples = dev_examples(view, kind, say) if view.data.dev or view.data.train else None
        if examples is not None:
            engine = kind.engine(model, GreedySearch())
            key = name if name != "train" else kind.route
            found[key] = Validation(model, kind, engine, examples, measures, batch_tokens=tokens, say=say)
    return Validations(found) if len(found) > 1 else next(iter(found.values()), None)


def _trainer(parts: _Parts, folder: RunFolder, progress: Progress, world: World) -> Trainer:
    settings = parts.experiment.training
    if isinstance(parts.validation, Teaching):
        settings = replace(settings, metric=CHOICE, average=1)
    return Trainer(
        parts.model,
        parts.objective,
        parts.batches,
        settings=settings,
        run=folder.path,
        validate=parts.validation,
        higher_is_better=parts.higher_is_better,
        progress=progress,
        world=world,
        halvings=parts.halvings,
        validate_start=parts.continues and parts.validation is not None,
    )


def _learnt_columns(experiment: Experiment, folder: RunFolder, progress: Progress) -> Columns:
    """Begin a run: note its origins, and learn what its columns have to know."""
    progress.cut(0)
    folder.begin(origins_of(experiment))
    known = taken_columns(experiment, folder, origin_of(experiment), progress.say)
    columns = learn_run_columns(experiment, folder, progress.say, known)
    folder.seal()
    return columns


def _measures(experiment: Experiment, task: Task) -> list[Measure]:
    """What is told of each validation, with what steers; TER would take longer than all the rest."""
    measures = [*task.likelihoods(), *(task.measure(key) for key in task.validates)]
    steering = task.measure(experiment.training.metric)
    return measures if steering.key in (one.key for one in measures) else [*measures, steering]


def _tell(report: Report, folder: RunFolder, parts: _Parts, progress: Progress) -> None:
    experiment, teaching = parts.experiment, isinstance(parts.validation, Teaching)
    score = "" if report.score is None or teaching else f", best score {report.score:.2f}"
    progress.say(f"{report.reason}: {report.updates:,} updates in {report.seconds / 60:.1f} min{score}")
    command = f"regard train {quote(str(folder))} --resume"
    limits = "".join(f" training.{name}=null" for name in LIMITS if getattr(experiment.training, name) is not None)
    if isinstance(parts.validation, Teaching):
        progress.say(parts.validation.summary(folder, report.checkpoint))
    elif parts.continues and report.checkpoint == step_folder(folder.path, 0):
        progress.say(f"no checkpoint was better than the start ({experiment.training.metric}): its weights are kept")
    elif report.rising:
        minutes = max(2, round(report.seconds / 60 * 3))  # in all, what has passed included
        progress.say(f"the last score is the best one; go on with: {command}{limits} training.max_minutes={minutes}")
    progress.say(experiment.task_class.usage(quote(str(folder))))


LIMITS = ("max_updates", "max_epochs", "max_core_minutes")  # which a longer time must not meet
