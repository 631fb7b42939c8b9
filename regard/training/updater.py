"""One update: for each turn the gradients of one or several batches, clipped, and a step of its optimizer."""

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor, nn

from regard.compat import coalesced, multiply_all
from regard.errors import ConfigError, TrainingError
from regard.objectives import Objective
from regard.ops.linear import half_products
from regard.ops.memory import lacks_memory, memory_errors_named
from regard.ops.quantization import rounded_weights
from regard.ops.recompute import checkpoint_gradients
from regard.records import Batch, Loss
from regard.training.optimizers import takes_rows
from regard.training.settings import TrainingSettings
from regard.training.shards import Together, numbers
from regard.training.turns import Turn, Turns
from regard.training.world import ONE_PROCESS, World, meeting

SMALLER = (
    "Try training.gradient_checkpointing=true, or a new run with a smaller training.batch_tokens (or batch_sentences), "
    "and training.accumulate to make up for it, or a smaller data.max_length"
)


_NONE, _SPARSE, _DENSE = "", "sparse", "dense"


class TurnStep(NamedTuple):
    """The outcome of a turn; loss and parts per unit of count."""

    loss: float
    norm: float  # of the gradient, before clipping
    rate: float
    parts: Mapping[str, float] = MappingProxyType({})  # by the names that the objective gives them


class Updated(NamedTuple):
    """The outcome of an update."""

    tokens: int  # what losses are divided by
    turns: Mapping[str, TurnStep]
    read: int | None = None  # what speeds go by; None: `tokens`


@dataclass(frozen=True)
class Sums:
    """The loss of batches, summed."""

    loss: float
    count: int
    parts: Mapping[str, float]
    gradients: list[str]  # of each parameter of the turn: _NONE, _SPARSE or _DENSE


class Updater:
    """Takes the turns of an objective, in order, at every update."""

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        settings: TrainingSettings,
        world: World = ONE_PROCESS,
        *,
        halvings: int = 0,
    ) -> None:
        self.settings, self.world, self._modules = settings, world, (model, objective)
        self._objective = objective
        world.spread([tensor for module in self._modules for tensor in (*module.parameters(), *module.buffers())])
        self.sharded = world.size > 1 and settings.parallel == "fsdp"
        together = Together(model, objective, world) if self.sharded else None
        self.gathered = together.gathered if together else nullcontext  # around what uses the model outside an update
        self.turns = Turns(settings, objective)
        if settings.gradient_checkpointing and not checkpoint_gradients(model):
            problem = "this model has no Transformer block, and nothing else can be computed again"
            raise ConfigError("training.gradient_checkpointing", problem, "leave it out")
        if settings.quantization != "none" and self.sharded:
            problem = "is not possible with training.parallel=fsdp: a process holds parts of rows"
            raise ConfigError("training.quantization", problem, "training.parallel=ddp")
        self.device = next(model.parameters()).device
        loss = together or objective.loss
        self._forward: Any = torch.compile(loss, dynamic=True) if settings.compile else loss
        gains = settings.precision == "auto" and self.device.type == "cuda"
        self.half = settings.precision == "bf16" or gains
        self.halvings = halvings  # so many times each batch is halved, for want of memory

    def update(self, batches: Sequence[Batch], number: int) -> Updated:
        """Several batches, of several processes, are exactly one large batch: sums are divided by the whole count.

        Where memory does not suffice, batches are halved from then on. Raises TrainingError where it does not suffice
        for one example, and for a loss of NaN, which changes no weight.
        """
        where = f"at update {number:,}, with batches of {self.settings.batch_size}"
        with meeting(), memory_errors_named(where, SMALLER):
            taken = {name: self._take(turn, batches, number) for name, turn in self.turns.items() if turn.taken(number)}
        self._spread_averages()
        sizes = [(batch.count, batch.count if batch.read is None else batch.read) for batch in batches]
        tokens, read = map(sum, zip(*(size for some in self.world.gather(sizes) for size in some), strict=True))
        return Updated(tokens, taken, read)

    def _take(self, turn: Turn, batches: Sequence[Batch], number: int) -> TurnStep:
        sums = self._summed(turn, self._gradients(batches, turn))
        turn.forget_frozen(number)
        count = max(1, sums.count)
        norm, loss = self._clip(turn, count), sums.loss / count
        if not (math.isfinite(loss) and math.isfinite(norm)):
            self.world.by_first(partial(_refuse, batches, number, loss, norm))
        rate = turn.step(number)
        self.turns.forget_gradients()
        return TurnStep(loss, norm, rate, {name: part / count for name, part in sums.parts.items()})

    def _gradients(self, batches: Sequence[Batch], turn: Turn) -> Sums:
        """Gradients of the batches, in pieces that fit into memory; the pieces add up to the same sums."""
        pieces = self._pieces(batches)
        while True:
            draws = torch.get_rng_state()
            try:
                return self._backward(pieces, turn)
            except (RuntimeError, MemoryError) as error:
                if self.sharded or not lacks_memory(error):  # shards meet in the midst of a batch
                    raise
                self.halvings += 1
                smaller = self._pieces(batches)
                if len(smaller) == len(pieces):
                    raise
                pieces = smaller
            self.turns.forget_gradients()
            torch.set_rng_state(draws)
            if self.device.type == "cuda":
                torch.cuda.empty_cache()

    def _pieces(self, batches: Sequence[Batch]) -> list[Batch]:
        pieces = list(batches)
        for _ in range(self.halvings):
            pieces = [half for piece in pieces for half in self._objective.halves(piece)]
        return pieces

    def _backward(self, batches: Sequence[Batch], turn: Turn) -> Sums:
        total, count = torch.zeros((), device=self.device), 0
        parts: dict[str, Tensor] = {}
        for batch in batches:
            with self._rounded():
                with self._precision():
                    loss: Loss = self._forward(batch.to(self.device), turn.name)
                loss.sum.backward()
            total, count = total + loss.sum.detach(), count + loss.count
            for name, part in loss.parts.items():
                parts[name] = parts[name] + part if name in parts else part
        found = [_settled(parameter, sparse=takes_rows(turn.optimizer)) for parameter in turn.parameters]
        return Sums(float(total), count, {name: float(part) for name, part in parts.items()}, found)

    def _precision(self) -> AbstractContextManager[Any]:
        """Return the autocast context of the forward pass; compiled graphs use torch's own."""
        if self.half and self.device.type == "cpu" and not self.settings.compile:
            return half_products()
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.half)

    def _rounded(self) -> AbstractContextManager[None]:
        """Return the context in which the model has 8-bit weights, where training is aware of them."""
        none = self.settings.quantization == "none"
        return nullcontext() if none else rounded_weights(self._modules[0].parameters())

    def _summed(self, turn: Turn, sums: Sums) -> Sums:
        """Losses and gradients of all processes; shards are summed while they are made."""
        if self.world.size == 1:
            return sums
        every = self.world.gather(sums)
        if not self.sharded:
            for parameter, *found in zip(turn.parameters, *(one.gradients for one in every), strict=True):
                self._join(parameter, found)
            self.world.sum([gradient for gradient in turn.gradients() if not gradient.is_sparse])
        names = dict.fromkeys(name for one in every for name in one.parts)
        parts = {name: sum(one.parts.get(name, 0.0) for one in every) for name in names}
        return Sums(sum(one.loss for one in every), sum(one.count for one in every), parts, sums.gradients)

    def _join(self, parameter: nn.Parameter, found: Sequence[str]) -> None:
        """Give a parameter the kind of gradient that all processes can sum; sparse ones are summed here."""
        if _DENSE in found:
            gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            parameter.grad = gradient.to_dense() if gradient.is_sparse else gradient
        elif _SPARSE in found:
            rows = torch.zeros(1, 0, dtype=torch.int64, device=parameter.device)
            none = torch.sparse_coo_tensor(
                rows, parameter.new_zeros(0, *parameter.shape[1:]), parameter.shape, check_invariants=False
            )
            parameter.grad = self.world.sum_rows(none.coalesce() if parameter.grad is None else parameter.grad)

    def _clip(self, turn: Turn, count: int) -> float:
        """Turn gradients of the sum into those of the mean, no longer than the clip norm; return the norm before."""
        gradients = [numbers(gradient) for gradient in turn.gradients()]
        norm = float(nn.utils.get_total_norm(gradients, foreach=True))
        if self.sharded:
            norm = math.hypot(*self.world.gather(norm))
        norm /= count
        scale = turn.clip_norm / (norm + 1e-6) if turn.clip_norm and norm > turn.clip_norm else 1.0
        if math.isfinite(norm):
            multiply_all(gradients, scale / count)
        return norm

    def _spread_averages(self) -> None:
        """Give running averages of the first process to all, since these are saved."""
        if self.world.size == 1:
            return
        for module in self._modules:
            saved = module.state_dict().keys()
            buffers = [buffer for name, buffer in module.named_buffers() if name in saved]
            self.world.spread([buffer for buffer in buffers if buffer.is_floating_point()])


def _settled(parameter: nn.Parameter, *, sparse: bool) -> str:
    """Make a sparse gradient coalesced, or dense for an optimizer that reads no other; return its kind."""
    if parameter.grad is None:
        return _NONE
    if parameter.grad.is_sparse:
        parameter.grad = coalesced(parameter.grad) if sparse else parameter.grad.to_dense()
    return _SPARSE if parameter.grad.is_sparse else _DENSE


def _refuse(batches: Sequence[Batch], number: int, loss: float, norm: float) -> NoReturn:
    lines = ", ".join(str(line) for line in batches[0].lines[:5].tolist())
    raise TrainingError(
        f"training: the loss is {loss:.4g} and the gradient's norm {norm:.4g} at update {number:,} (examples "
        f"{lines} … of the corpus); what was saved before is kept. Try a smaller learning_rate or a longer warmup"
    )
