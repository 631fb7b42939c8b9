"""The change of a model's weights by a training, of which a part may be kept (https://arxiv.org/abs/2109.01903)."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

_HALVINGS = 5  # of the range of parts


class WeightChange(NamedTuple):
    """A model, and its weights before and after a training."""

    model: nn.Module
    start: list[Tensor]
    end: list[Tensor]

    def keep(self, part: float) -> None:
        """Put the weights into the model that are this part of the way from the start to the end."""
        put_weights(self.model, [first.lerp(last, part) for first, last in zip(self.start, self.end, strict=True)])


def weight_copies(model: nn.Module) -> list[Tensor]:
    """Return copies of a model's parameters."""
    return [one.detach().clone() for one in model.parameters()]


def put_weights(model: nn.Module, weights: list[Tensor]) -> None:
    """Copy weights into the parameters of a model."""
    with torch.no_grad():
        for one, value in zip(model.parameters(), weights, strict=True):
            one.copy_(value)


def bisected(holds: Callable[[float], bool]) -> tuple[float, float]:
    """Return the largest part of a change for which a condition was false, and the least for which it was true.

    It is taken to be false of no change and true of the whole, so these are not tested.
    """
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
