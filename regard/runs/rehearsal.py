"""Rehearsal of a run before anything is written: fit of its parts, memory, time, and shapes."""

import math
import time
import warnings
from collections.abc import Callable, Mapping, Set
from functools import cached_property
from itertools import cycle, islice
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from regard.config import collected_notes
from regard.data.columns import Columns, example_values, small_columns
from regard.data.streams import BATCHES_AHEAD
from regard.errors import ConfigError, DataError, RegardError
from regard.experiment import Experiment
from regard.experiment.complete_settings import empty_model
from regard.experiment.time_plan import TRAINING, sized_columns
from regard.models import MODELS, Model
from regard.ops.memory import free_bytes, lacks_memory
from regard.ops.modules import count_parameters, skip_init
from regard.records import Batch
from regard.runs.assembly import engine_of, objective_of
from regard.runs.embeddings import CHECKED, fill_embedders
from regard.runs.folder import choose_device
from regard.runs.run import model_of, task_of
from regard.runs.texts import learnt_columns, part_reader
from regard.training.optimizers import OPTIMIZERS
from regard.training.schedules import Scheduled
from regard.training.turns import Turns

NUMBER = 4  # bytes of a weight
LENGTH, ROWS = 5, 64  # example texts per row of the test batch, and its rows
TEXT_PIECES = 20  # of a text whose tokenizer is not learnt yet
FIRST_EXAMPLES = 16  # examples of the data from which sizes are estimated
TRIED_SECONDS = 1.0  # of test batches for the speed
PROCESS = 500e6  # bytes of Python and torch
SMALL = 2**14  # pieces of a batch that always fits if the model does
FEW_WEIGHTS = 2**24  # weights, 64 MB: smaller models always fit


class MemoryPlan(NamedTuple):
    """An estimate; in bytes, unless noted otherwise."""

    parameters: int  # weights of the model, counted
    pieces: dict[str, int]  # requested size of each vocabulary; a small text gives fewer
    weights: float  # with gradients and optimizer state
    batch: float  # activations of a full batch, kept for the backward pass
    waiting: float  # batches that are made in advance or accumulated
    seconds: float  # per update; 0: there are none, the model is counted

    @property
    def total(self) -> float:
        """Sum of all, and the process itself."""
        return self.weights + self.batch + self.waiting + PROCESS

    def lines(self, experiment: Experiment) -> list[str]:
        """Return the plan as text."""
        training, pieces = experiment.training, ", ".join(f"{name} {count:,}" for name, count in self.pieces.items())
        vocabulary = f"; vocabulary of at most {pieces} pieces" if pieces else ""
        device = torch.device(choose_device(experiment.device))
        minutes = training.max_minutes
        speed = f"about {60 / self.seconds:,.1f} updates a minute on the processor" if self.seconds else "no updates"
        if minutes and self.seconds:
            speed += f"; max_minutes={minutes:g} is about {minutes * 60 * TRAINING / self.seconds:,.0f}"
        return [
            f"model     {self.parameters:,} weights{vocabulary}",
            f"weights   {_read(self.weights)}, with gradients and the averages of {training.optimizer.name}",
            f"a batch   {_read(self.batch)} for {training.batch_size}",
            f"waiting   {_read(self.waiting)} of batches that are made ahead",
            f"memory    about {_read(self.total)}; {_read(free_bytes(device))} are free",
            f"speed     {speed}",
        ]


class Sample(NamedTuple):
    """Values that represent the examples of a run."""

    columns: Mapping[str, Any]  # with the sizes of the settings
    values: Mapping[str, list[str]]  # by column
    longest: int  # pieces of an example in a full batch; rows, where it has rows of numbers
    rows: int = ROWS  # of the test batch


class Rehearsal:
    """Rehearsal of a run's settings. Each figure is computed once, on first use."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self._shapes: dict[str, torch.Size] | None = None  # known once a small model has been built

    @property
    def shapes(self) -> dict[str, torch.Size]:
        """The shape of each tensor of the model by its name, with small vocabularies."""
        if self._shapes is None:
            self._shapes = _shapes(empty_model(self.experiment))
        return self._shapes

    @cached_property
    def sample(self) -> Sample:
        """First examples of the data where no column needs a tokenizer, for their sizes; else synthetic ones."""
        experiment = self.experiment
        columns, reader = sized_columns(experiment, self._small()), part_reader(experiment, "train")
        if reader is None or any(column.tokenizer is not None for column in columns.values()):
            values = {name: [one] for name, (one, _) in example_values(experiment.columns, LENGTH).items()}
            return Sample(columns, values, TEXT_PIECES)
        filled = (one for one in reader if all(map(str.strip, one.texts.values())))
        first = [*islice(filled, FIRST_EXAMPLES)]
        if not first:
            raise DataError(reader.place, "has no example", hint="give some to learn from")
        learnt = learnt_columns(experiment, [first], reader.place)
        values = {name: [one.texts[name] for one in first] for name in learnt}
        batch, *_ = task_of(experiment, learnt).held(values, tokens=10**9)
        longest = _size(batch) // len(first)
        return Sample(learnt, values, longest, min(ROWS, max(1, SMALL // longest)))

    @cached_property
    def parameters(self) -> int:
        """Number of weights of the model, counted without allocating them."""
        with torch.device("meta"), skip_init():
            model: Model = MODELS.build(self.experiment.model, cast(Columns, self.sample.columns))
        return count_parameters(model)

    @cached_property
    def weights(self) -> float:
        """Bytes of all weights, with gradients and optimizer state."""
        return self.parameters * bytes_of_a_weight(self.experiment)

    @cached_property
    def tokens(self) -> float:
        """Pieces of a full batch, padding included."""
        training = self.experiment.training
        limits = [training.batch_tokens, training.batch_sentences and training.batch_sentences * self.sample.longest]
        return float(min(limit for limit in limits if limit))

    @property
    def waiting(self) -> float:
        """Bytes of batches made in advance or accumulated: 8 of the id and 1 of the mask per piece."""
        training = self.experiment.training
        return (training.accumulate + BATCHES_AHEAD * training.workers) * self.tokens * len(self.experiment.columns) * 9

    def check_memory(self) -> None:
        """Raise ConfigError for a model, or a queue of batches, that exceeds the memory; nothing large is allocated."""
        free = free_bytes(torch.device(choose_device(self.experiment.device)))
        if self.parameters > FEW_WEIGHTS and self.weights > free:
            needed = f"about {_read(self.weights)} of memory to be trained, {_read(free)} are free"
            problem = f"its {self.parameters:,} weights need {needed}"
            raise ConfigError("model", problem, "smaller dims, fewer layers or a smaller vocabulary")
        if self.waiting > free:
            names = "training.workers" if self.experiment.training.accumulate == 1 else "training.accumulate"
            needed = f"about {_read(self.waiting)} of memory, {_read(free)} are free"
            problem = f"the batches that wait for an update need {needed}"
            raise ConfigError(names, problem, "a smaller number, or a smaller training.batch_tokens")

    def check_parts(self, *, starts: bool = False) -> None:
        """Build the model, compute a loss and predict. Raises ConfigError for parts that do not fit together.

        For a run that `starts`, files of vectors are checked as well; a resumed one does not need them.
        """
        try:
            notes = self._step(starts=starts)
        except RegardError:
            raise
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            if lacks_memory(error):
                raise
            problem = f"its parts do not fit together: {(str(error) or repr(error)).splitlines()[0]}"
            raise ConfigError("model", problem, "check the dims of encoder, decoder and attention") from error
        for line in dict.fromkeys(map(str, notes)):
            warnings.warn(line, stacklevel=2)

    def plan(self, updates: int | None = None) -> MemoryPlan:
        """Return memory and time of the run, whose time limit allows `updates`, if these are known.

        Raises ConfigError for a model that exceeds the memory.
        """
        self.check_memory()
        experiment, sample = self.experiment, self.sample
        columns = cast(Columns, sample.columns)
        model, task = model_of(experiment, columns).train(), task_of(experiment, columns)
        objective = objective_of(experiment, model, task).train()
        parameters = count_parameters(model)
        pieces = {name: len(column) for name, column in columns.items() if column.tokenizer is not None}
        if not objective.turns:
            return MemoryPlan(parameters, pieces, self.weights, 0.0, 0.0, 0.0)
        batch, *_ = task.held(
            {name: [*islice(cycle(each), sample.rows)] for name, each in sample.values.items()}, tokens=10**9
        )
        turn = objective.turns[-1]
        own = {one.untyped_storage().data_ptr() for one in (*model.parameters(), *model.buffers())}
        saved = _saved_bytes(own, lambda: objective.loss(batch, turn).sum)
        start, count = time.perf_counter(), 0
        while time.perf_counter() - start < TRIED_SECONDS:
            objective.loss(batch, turn).sum.backward()
            count += 1
        scale = self.tokens / _size(batch)
        seconds = (time.perf_counter() - start) / count * scale * experiment.training.accumulate
        minutes = experiment.training.max_minutes
        spent = minutes * 60 * TRAINING / updates if minutes and updates else seconds
        return MemoryPlan(parameters, pieces, self.weights, saved * scale, self.waiting, spent)

    def halvings(self, device: torch.device) -> int:
        """Return the number of times that batches must be halved to fit into memory; small ones are not tested."""
        if self.tokens <= SMALL:
            return 0
        plan = self.plan()
        room = max(free_bytes(device) - plan.weights - plan.waiting, 1.0)
        return max(0, math.ceil(math.log2(max(plan.batch, 1.0) / room)))

    def _small(self) -> Columns:
        """Return columns learnt from their example values alone."""
        return small_columns(self.experiment.vocabularies, shared=self.experiment.text.one_vocabulary)

    def _step(self, *, starts: bool) -> list[Any]:
        """Do one step of a small model; return the notes of its parts."""
        experiment, columns = self.experiment, self._small()
        task, model = task_of(experiment, columns), model_of(experiment, columns).eval()
        self._shapes = _shapes(model)
        with collected_notes() as notes:
            objective = objective_of(experiment, model, task)
        batch, *_ = task.held(example_values(experiment.columns), tokens=64)
        for turn in objective.turns:
            loss = objective.loss(batch, turn)
            if experiment.training.parallel == "fsdp":
                loss.sum.backward()
        _check_shards(model)
        Scheduled(experiment.training, model, objective)
        Turns(experiment.training, objective)
        with torch.inference_mode():
            task.predict(engine_of(experiment.decoding, model, task), batch)
        if starts:
            fill_embedders(model, [task], lambda line: None, CHECKED)
        return [*notes]


def _shapes(model: Model) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in model.state_dict().items()}


def bytes_of_a_weight(experiment: Experiment) -> float:
    """Return the bytes of a weight, its gradient and its optimizer state."""
    parameter = nn.Parameter(torch.ones(16, 16))
    parameter.grad = torch.ones_like(parameter)
    try:
        optimizer = OPTIMIZERS.build(experiment.training.optimizer, [parameter])
    except ValueError:  # the rehearsal reports settings that it refuses
        return NUMBER * 2
    optimizer.step()
    kept = sum(value.numel() for value in optimizer.state[parameter].values() if isinstance(value, Tensor))
    return NUMBER * (2 + kept / parameter.numel())


def _saved_bytes(own: Set[int], loss: Callable[[], Tensor]) -> int:
    """Return the bytes that a loss keeps for the backward pass, without the model's `own`; does one backward pass."""
    saved = dict[int, int]()

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        found = loss()
    found.backward()  # the first one warms up
    return sum(saved.values())


def _size(batch: Batch) -> int:
    """Return the number of examples times the ids of the longest."""
    columns = batch.columns.values()
    lengths = [1 if isinstance(one, Tensor) else int(one.mask.flatten(1).sum(dim=1).max()) for one in columns]
    return len(batch.lines) * max(lengths)


def _check_shards(model: Model) -> None:
    """Raise ConfigError where a model has sparse gradients, which torch cannot shard."""
    if any(one.grad is not None and one.grad.is_sparse for one in model.parameters()):
        problem = "needs dense gradients, and this model has sparse ones: only of the rows that a batch reads"
        raise ConfigError("training.parallel", f"'fsdp' {problem}", "training.parallel=ddp")


def _read(count: float) -> str:
    """Return bytes with a readable unit."""
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count / 1e6:,.0f} MB"
