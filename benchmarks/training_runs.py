"""Regard's side of benchmarks of training: a prepared run, its stream of batches, and the trainer's own updates."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from timing import Contender, turns
from torch import nn

from regard.data.streams import PlannedStream
from regard.experiment import read_experiment
from regard.objectives import OBJECTIVES, Context
from regard.ops.memory import keep_memory
from regard.records import Batch
from regard.registry import Choice
from regard.runs import Run, RunFolder
from regard.runs.run import model_of, task_of
from regard.runs.texts import learn_run_columns, training_batches
from regard.training.updater import Updater


def prepare_run(folder: Path, settings: Sequence[str]) -> RunFolder:
    """Return a run folder with settings, vocabularies and a corpus, no model yet."""
    run = RunFolder(folder)
    experiment = read_experiment(None, [*settings, f"run={run.path}"])
    with run.created(), run.preparing(experiment):
        learn_run_columns(experiment, run, print)
    training_stream(run)
    return run


def training_stream(run: RunFolder) -> PlannedStream:
    """Return the training stream of a prepared run; the first call makes its corpus."""
    opened = Run.open(run)
    task = task_of(opened.experiment, opened.vocabularies)
    return training_batches(opened.experiment, run, task, lambda text: None)


def batches_of(run: RunFolder) -> Iterator[Batch]:
    """Return batches to learn from, without end, made by as many workers as the settings say."""
    return (batch for _, batch in training_stream(run).stream(workers=Run.open(run).experiment.training.workers))


class Words:
    """A vocabulary of so many words, to build a model for."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


def updater_of(
    run: RunFolder, rate: float, vocabulary: int | None = None, device: str = "cpu", **changes: Any
) -> tuple[Updater, nn.Module]:
    """Return the trainer's updater at a constant learning rate, with its allocator setting, and its new model.

    `vocabulary`: words of a translator's model, at least as many as those of the run; None: those of the run.
    `changes`: settings of training.
    """
    keep_memory()
    opened = Run.open(run)
    experiment = opened.experiment
    columns: Any = opened.columns
    if vocabulary is not None:
        columns = dict.fromkeys(columns, Words(vocabulary))
    model = model_of(experiment, columns).train().to(device)
    settings = replace(experiment.training, learning_rate=rate, schedule=Choice("constant"), **changes)
    return Updater(model, OBJECTIVES.build(experiment.objective, Context(model)), settings), model


def regard(run: RunFolder, rate: float, count_words: Callable[[Batch], int], words: int) -> Contender:
    """Return the contender that updates a new model, so many words a turn."""
    updater, model = updater_of(run, rate)
    return Contender(turns(batches_of(run), lambda batch: updater.update([batch], 1), count_words, words), model, [])
