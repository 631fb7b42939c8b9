"""From settings to a trained run."""

import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from shlex import quote

from regard.config.quoting import quoted
from regard.experiment import Experiment, read_experiment
from regard.models.counting import count_for_embedders
from regard.registry import Choice
from regard.runs.assembly import model_of, objective_of, task_of
from regard.runs.folder import RunFolder, choose_device
from regard.runs.rehearsal import rehearse
from regard.runs.resuming import check_resumed, origins_of
from regard.runs.texts import dev_texts, learn_tokenizers, training_batches
from regard.runs.validation import Validation
from regard.tasks import Task
from regard.text import Tokenizer
from regard.training.interrupt import Interrupted
from regard.training.progress import Progress
from regard.training.trainer import Report, Trainer


def train(
    config: Path | str | None = None,
    changes: Sequence[str] = (),
    *,
    source: Path | str | None = None,
    target: Path | str | None = None,
    text: Path | str | None = None,
    run: Path | str | None = None,
    quiet: bool = False,
) -> Path:
    """Trains a model; returns its run folder, for `regard.load`.

    >>> regard.train(source="train.en", target="train.de", run="runs/en-de")

    A language model learns from a `text`. `changes` are settings as on the command line: "training.max_minutes=10".
    Raises RegardError for what is wrong.
    """
    given = {"data.source": source, "data.target": target, "data.text": text, "run": run}
    task = ["task.name=language_model"] if text is not None else []
    words = [f"{name}={quoted(str(value))}" for name, value in given.items() if value is not None]
    experiment = named(read_experiment(None if config is None else Path(config), [*task, *changes, *words]))
    train_run(experiment, quiet=quiet)
    return run_of(experiment).path


def train_run(experiment: Experiment, *, resume: bool = False, quiet: bool = False) -> bool:
    """Trains until a limit is reached; False when it was interrupted and has saved. Raises RegardError.

    A new run that cannot be prepared leaves no folder behind. To resume a run that had saved nothing yet is to begin.
    """
    experiment = named(experiment)
    folder = run_of(experiment)
    rehearse(experiment)
    progress = Progress(folder.path, quiet=quiet)
    if resume:
        experiment = replace(experiment, data=experiment.data.located())
        check_resumed(experiment, folder, progress.say)
        if not folder.started:
            progress.warn(f"{folder} has no checkpoint: training begins anew")
    with ExitStack() as stack:
        with nullcontext() if resume else folder.preparing(experiment):
            stack.enter_context(folder.held())
            trainer = _trainer(experiment, folder, progress)
        try:
            report = trainer.train(resume=folder.started, begun=lambda: folder.keep(experiment))
        except Interrupted as interrupted:
            progress.say(f"{interrupted}; go on with: regard train --run {quote(str(folder))} --resume")
            return False
        _tell(report, folder, experiment, progress)
        return True


def run_of(experiment: Experiment) -> RunFolder:
    """Where an experiment's model goes; it must be `named`."""
    return RunFolder(experiment.run or Path("runs"))


def named(experiment: Experiment) -> Experiment:
    """With a run folder: after the languages and the time, where none is given."""
    if experiment.run is not None:
        return experiment
    languages = "-".join(code for code in experiment.data.language_pair() if code) or "run"
    return replace(experiment, run=Path("runs") / f"{languages}-{time.strftime('%Y%m%d-%H%M%S')}")


def _trainer(experiment: Experiment, folder: RunFolder, progress: Progress) -> Trainer:
    device = choose_device(experiment.device)
    tokenizers = _tokenizers(experiment, folder, progress)
    task = task_of(experiment, tokenizers, quick=True)
    batches = training_batches(experiment, folder, task, tokenizers, progress.say)
    model = model_of(experiment, task).to(device)
    if not folder.started:
        count_for_embedders(model, batches)
    texts = dev_texts(experiment, task, progress.say)
    validation = None
    if texts is not None:
        tokens = experiment.decoding.batch_tokens
        validation = Validation(model, task, texts, _metrics(experiment, task), batch_tokens=tokens)
    count = sum(parameter.numel() for parameter in model.parameters())
    progress.say(f"{count / 1e6:.1f} M parameters on {device}, run {folder}")
    return Trainer(
        model,
        objective_of(experiment, model).to(device),
        batches,
        settings=experiment.training,
        run=folder.path,
        validate=validation,
        progress=progress,
    )


def _tokenizers(experiment: Experiment, folder: RunFolder, progress: Progress) -> dict[str, Tokenizer]:
    if not folder.started:
        progress.cut(0)
        folder.note_origins(origins_of(experiment))
        return learn_tokenizers(experiment, folder, progress.say)
    for change in folder.changed_environment():
        progress.warn(f"{change}: the weights may differ in their last bits from those of an unbroken run")
    return folder.tokenizers(experiment)


def _metrics(experiment: Experiment, task: Task) -> list[Choice]:
    """What is told of each validation, with what steers; TER would take longer than all the rest."""
    wanted = [Choice("bleu"), Choice("chrf")] if task.translates else []
    steering = experiment.training.metric
    if steering not in task.losses and steering not in (choice.name for choice in wanted):
        wanted.append(Choice(steering))
    return wanted


def _tell(report: Report, folder: RunFolder, experiment: Experiment, progress: Progress) -> None:
    score = "" if report.score is None else f", best score {report.score:.2f}"
    progress.say(f"{report.reason}: {report.updates:,} updates in {report.seconds / 60:.1f} min{score}")
    verb = "translate" if len(experiment.columns) > 1 else "predict"
    progress.say(f"{verb} with: regard {verb} {quote(str(folder))} < FILE")
