"""One update: gradients of one or several batches, clipped, and a step of each turn's optimizer."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn, optim

from regard.compat import multiply_all
from regard.errors import TrainingError
from regard.objectives import Objective
from regard.ops.memory import telling_of_memory
from regard.records import Batch, Loss
from regard.training.optimizers import OPTIMIZERS
from regard.training.settings import TrainingSettings

SMALLER = (
    "Try a new run with a smaller training.batch_tokens, and training.accumulate to make up for it, or a smaller "
    "data.max_length"
)


class Updated(NamedTuple):
    """What an update was like."""

    loss: float  # per unit of count, of the last turn
    norm: float  # of the gradient, before clipping
    tokens: int
    parts: Mapping[str, float] = MappingProxyType({})  # per unit of count, by the names the objective gives them


class Updater:
    """Owns the optimizers, one for each of the objective's turns."""

    def __init__(self, model: nn.Module, objective: Objective, settings: TrainingSettings) -> None:
        self.settings, self.objective = settings, objective
        self.device = next(model.parameters()).device
        self.parameters: Mapping[str, list[nn.Parameter]] = {
            turn: [one for one in objective.parameters_of(turn) if one.requires_grad] for turn in objective.turns
        }
        self.optimizers: Mapping[str, optim.Optimizer] = {
            turn: OPTIMIZERS.build(settings.optimizer, parameters) for turn, parameters in self.parameters.items()
        }
        self._forward: Any = torch.compile(objective.loss, dynamic=True) if settings.compile else objective.loss
        gains = settings.precision == "auto" and self.device.type == "cuda"
        self.half = settings.precision == "bf16" or gains

    def update(self, batches: Sequence[Batch], rate: float, number: int) -> Updated:
        """Several batches are exactly one large batch: sums are added up, and divided by the whole count.

        Raises TrainingError for a loss that is no number, which changes no weight, and where memory does not suffice.
        """
        where = f"at update {number:,}, with batches of {self.settings.batch_tokens:,} tokens"
        with telling_of_memory(where, SMALLER):
            return self._update(batches, rate, number)

    def _update(self, batches: Sequence[Batch], rate: float, number: int) -> Updated:
        updated = Updated(0.0, 0.0, 0)
        for turn in self.objective.turns:
            optimizer = self.optimizers[turn]
            for group in optimizer.param_groups:
                group["lr"] = rate
            total, count, parts = self._backward(batches, turn)
            norm = self._clip(self.parameters[turn], max(1, count))
            loss = float(total) / max(1, count)
            if not (math.isfinite(loss) and math.isfinite(norm)):
                self._refuse(batches, number, loss, norm)
            optimizer.step()
            for parameters in self.parameters.values():  # a turn's loss reaches the others' parameters too
                for parameter in parameters:
                    parameter.grad = None
            values = {name: float(part) / max(1, count) for name, part in parts.items()}
            updated = Updated(loss, norm, sum(batch.count for batch in batches), values)
        return updated

    def _backward(self, batches: Sequence[Batch], turn: str) -> tuple[Tensor, int, dict[str, Tensor]]:
        total, count = torch.zeros((), device=self.device), 0
        parts: dict[str, Tensor] = {}
        for batch in batches:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
                loss: Loss = self._forward(batch.to(self.device), turn)
            loss.sum.backward()
            total, count = total + loss.sum.detach(), count + loss.count
            parts = {name: part + parts[name] if name in parts else part for name, part in loss.parts.items()}
        return total, count, parts

    def _clip(self, parameters: list[nn.Parameter], count: int) -> float:
        """Gradients of the sum → of the mean, no longer than the clip norm: one pass for both."""
        gradients = [one.grad for one in parameters if one.grad is not None]
        norm = float(nn.utils.get_total_norm(gradients, foreach=True)) / count
        limit = self.settings.clip_norm
        scale = limit / (norm + 1e-6) if limit and norm > limit else 1.0
        if math.isfinite(norm):
            multiply_all(gradients, scale / count)
        return norm

    def _refuse(self, batches: Sequence[Batch], number: int, loss: float, norm: float) -> None:
        lines = ", ".join(str(line) for line in batches[0].lines[:5].tolist())
        raise TrainingError(
            f"training: the loss is {loss:.4g} and the gradient's norm {norm:.4g} at update {number:,} (examples "
            f"{lines} … of the corpus); what was saved before is kept. Try a smaller learning_rate or a longer warmup"
        )
