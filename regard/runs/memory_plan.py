"""What a training takes of memory and time, estimated before anything is written."""

import math
import time
from collections.abc import Mapping
from itertools import cycle, islice
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from regard.data.columns import Columns, example_values, small_columns
from regard.data.streams import AHEAD
from regard.errors import ConfigError, DataError
from regard.experiment import Experiment
from regard.experiment.time_plan import TRAINING, measured_pace, sized_columns
from regard.models import MODELS, Model
from regard.ops.memory import free_bytes
from regard.records import Batch
from regard.runs.assembly import objective_of
from regard.runs.folder import choose_device
from regard.runs.run import model_of, task_of
from regard.runs.texts import learnt_columns, part_reader
from regard.training.optimizers import OPTIMIZERS

NUMBER = 4  # bytes of a weight
LENGTH, ROWS = 5, 64  # example texts in a row of the batch that is tried, and its rows
PIECES = 20  # of a text whose tokenizer is yet to be learnt
FIRST = 16  # examples of the data that tell how wide and long all are
TRIED = 1.0  # seconds of batches whose speed is measured
PROCESS = 500e6  # bytes of Python and torch
SMALL = 2**14  # pieces of a batch that fit wherever the model does
FEW = 2**24  # weights, 64 MB: below, a machine that trains at all has room for them


class MemoryPlan(NamedTuple):
    """An estimate, of bytes where nothing else is said."""

    parameters: int  # weights of the model, counted
    pieces: dict[str, int]  # of each vocabulary, as asked for; a small text gives fewer
    weights: float  # with gradients and what the optimizer keeps of each
    batch: float  # what a batch of full size leaves on its way through the model, for the way back
    waiting: float  # batches that are made ahead or summed
    seconds: float  # of an update; 0: there are none, all is counted before

    @property
    def total(self) -> float:
        """All of it, and the process itself."""
        return self.weights + self.batch + self.waiting + PROCESS


def check_weights(experiment: Experiment) -> None:
    """Raise ConfigError for a model, or a queue of batches, that cannot fit into memory; nothing large is built."""
    _check(experiment, _sample(experiment))


def _check(experiment: Experiment, sample: "_Sample") -> None:
    free, columns = free_bytes(torch.device(choose_device(experiment.device))), sample.columns
    parameters = _parameters(experiment, columns)
    weights = parameters * _bytes_of_a_weight(experiment)
    if parameters > FEW and weights > free:
        problem = (
            f"its {parameters:,} weights need about {_read(weights)} of memory to be trained, {_read(free)} are free"
        )
        raise ConfigError("model", problem, "smaller dims, fewer layers or a smaller vocabulary")
    waiting = _waiting(experiment, _tokens(experiment, sample), len(experiment.columns))
    if waiting > free:
        names = "training.workers" if experiment.training.accumulate == 1 else "training.accumulate"
        problem = f"the batches that wait for an update need about {_read(waiting)} of memory, {_read(free)} are free"
        raise ConfigError(names, problem, "a smaller number, or a smaller training.batch_tokens")


def memory_plan(experiment: Experiment) -> MemoryPlan:
    """Return the estimate. Raises ConfigError for a model that cannot fit into memory."""
    sample = _sample(experiment)
    _check(experiment, sample)
    columns = sample.columns
    model, task = model_of(experiment, cast(Columns, columns)).train(), task_of(experiment, cast(Columns, columns))
    objective = objective_of(experiment, model, task).train()
    parameters = sum(one.numel() for one in model.parameters())
    pieces = {name: len(column) for name, column in columns.items() if column.tokenizer is not None}
    weights = parameters * _bytes_of_a_weight(experiment)
    if not objective.turns:
        return MemoryPlan(parameters, pieces, weights, 0.0, 0.0, 0.0)
    batch, *_ = task.held(_repeated(sample.values, sample.rows), tokens=10**9)
    turn = objective.turns[-1]
    saved = dict[int, int]()
    own = {one.untyped_storage().data_ptr() for one in (*model.parameters(), *model.buffers())}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = objective.loss(batch, turn).sum
    loss.backward()  # the first one warms up
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < TRIED:
        objective.loss(batch, turn).sum.backward()
        count += 1
    tokens = _tokens(experiment, sample)
    scale = tokens / _size(batch)
    seconds = (time.perf_counter() - start) / count * scale * experiment.training.accumulate
    pace = measured_pace(experiment) if experiment.training.max_minutes else None
    return MemoryPlan(
        parameters,
        pieces,
        weights,
        sum(saved.values()) * scale,
        _waiting(experiment, tokens, len(experiment.columns)),
        seconds if pace is None else pace.seconds,
    )


def lines_of(plan: MemoryPlan, experiment: Experiment) -> list[str]:
    """Return the plan as a person reads it."""
    training, pieces = experiment.training, ", ".join(f"{name} {count:,}" for name, count in plan.pieces.items())
    vocabulary = f"; vocabulary of at most {pieces} pieces" if pieces else ""
    device = torch.device(choose_device(experiment.device))
    minutes = training.max_minutes
    speed = f"about {60 / plan.seconds:,.1f} updates a minute on the processor" if plan.seconds else "no updates"
    if minutes and plan.seconds:
        speed += f"; max_minutes={minutes:g} is about {minutes * 60 * TRAINING / plan.seconds:,.0f}"
    return [
        f"model     {plan.parameters:,} weights{vocabulary}",
        f"weights   {_read(plan.weights)}, with gradients and the averages of {training.optimizer.name}",
        f"a batch   {_read(plan.batch)} for {training.batch_size}",
        f"waiting   {_read(plan.waiting)} of batches that are made ahead",
        f"memory    about {_read(plan.total)}; {_read(free_bytes(device))} are free",
        f"speed     {speed}",
    ]


def halvings(experiment: Experiment, device: torch.device) -> int:
    """Return how many times batches must be halved to fit into memory; small ones are not tried."""
    if _tokens(experiment, _sample(experiment)) <= SMALL:
        return 0
    plan = memory_plan(experiment)
    room = max(free_bytes(device) - plan.weights - plan.waiting, 1.0)
    return max(0, math.ceil(math.log2(max(plan.batch, 1.0) / room)))


def _parameters(experiment: Experiment, columns: Mapping[str, Any]) -> int:
    """Weights of the model, without room for them."""
    with torch.device("meta"):
        model: Model = MODELS.build(experiment.model, cast(Columns, columns))
    return sum(parameter.numel() for parameter in model.parameters())


def _bytes_of_a_weight(experiment: Experiment) -> float:
    """A weight, its gradient, and what the optimizer keeps of it."""
    parameter = nn.Parameter(torch.ones(16, 16))
    parameter.grad = torch.ones_like(parameter)
    try:
        optimizer = OPTIMIZERS.build(experiment.training.optimizer, [parameter])
    except ValueError:  # settings that it refuses are told by the rehearsal
        return NUMBER * 2
    optimizer.step()
    kept = sum(value.numel() for value in optimizer.state[parameter].values() if isinstance(value, Tensor))
    return NUMBER * (2 + kept / parameter.numel())


def _waiting(experiment: Experiment, tokens: float, columns: int) -> float:
    """An id of 8 bytes and a mask of one for each piece, of batches that are made ahead and that are summed."""
    training = experiment.training
    return (training.accumulate + AHEAD * training.workers) * tokens * columns * 9


def _tokens(experiment: Experiment, sample: "_Sample") -> float:
    """Pieces of a full batch, padding included."""
    training = experiment.training
    limits = [training.batch_tokens, training.batch_sentences and training.batch_sentences * sample.longest]
    return float(min(limit for limit in limits if limit))


def _size(batch: Batch) -> int:
    """Examples times the ids of the longest."""
    columns = batch.columns.values()
    lengths = [1 if isinstance(one, Tensor) else int(one.mask.flatten(1).sum(dim=1).max()) for one in columns]
    return len(batch.lines) * max(lengths)


class _Sample(NamedTuple):
    """What stands for the examples of a run."""

    columns: Mapping[str, Any]  # of the sizes that the settings ask for
    values: Mapping[str, list[str]]  # by column
    longest: int  # pieces of an example in a full batch; rows, where it has rows of numbers
    rows: int = ROWS  # of the batch that is tried


def _sample(experiment: Experiment) -> _Sample:
    """The first examples of the data where no column cuts texts, since they tell their own sizes; else made-up ones."""
    columns, reader = _columns(experiment), part_reader(experiment, "train")
    if reader is None or any(column.tokenizer is not None for column in columns.values()):
        values = {name: [one] for name, (one, _) in example_values(experiment.columns, LENGTH).items()}
        return _Sample(columns, values, PIECES)
    filled = (one for one in reader if all(map(str.strip, one.texts.values())))
    first = [*islice(filled, FIRST)]
    if not first:
        raise DataError(reader.place, "has no example", hint="give some to learn from")
    learnt = learnt_columns(experiment, [first], reader.place)
    values = {name: [one.texts[name] for one in first] for name in learnt}
    batch, *_ = task_of(experiment, learnt).held(values, tokens=10**9)
    longest = _size(batch) // len(first)
    return _Sample(learnt, values, longest, min(ROWS, max(1, SMALL // longest)))


def _repeated(values: Mapping[str, list[str]], count: int) -> dict[str, list[str]]:
    """So many examples, the same ones again and again."""
    return {name: [*islice(cycle(each), count)] for name, each in values.items()}


def _columns(experiment: Experiment) -> dict[str, Any]:
    """Columns of the sizes that the settings ask for, which know example values alone."""
    return sized_columns(experiment, small_columns(experiment.vocabularies, shared=experiment.text.shared))


def _read(count: float) -> str:
    """Bytes as a person reads them."""
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count / 1e6:,.0f} MB"
