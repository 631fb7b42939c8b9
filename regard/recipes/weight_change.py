"""The change of a model's weights by a training, of which a part may be kept (https://arxiv.org/abs/2109.01903)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn


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
