"""8-bit weights: each row of a matrix has a scale, so that its largest number is 127 steps from 0."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

LARGEST_STEP = 127


def row_scales(rows: Tensor) -> Tensor:
    """(row, input) → (row): the size of one step."""
    return rows.abs().amax(dim=1).clamp(min=1e-30) / LARGEST_STEP


def rounded(weight: Tensor) -> Tensor:
    """(row, ...) → the same numbers, rounded to the steps of their rows."""
    rows = weight.flatten(1)
    scales = row_scales(rows).unsqueeze(1)
    return (rows / scales).round_().mul_(scales).view_as(weight)


@contextmanager
def rounded_weights(parameters: Iterable[nn.Parameter]) -> Iterator[None]:
    """Round matrices, and put them back as they were.

    Gradients of rounded weights are those of the weights: the straight-through estimator
    (https://arxiv.org/abs/1308.3432), by which a network learns weights that rounding does not harm
    (https://arxiv.org/abs/1712.05877).
    """
    kept = [(one, one.data) for one in parameters if one.dim() > 1 and one.is_floating_point() and one.numel()]
    try:
        with torch.no_grad():
            for parameter, weight in kept:
                parameter.data = rounded(weight)
        yield
    finally:
        for parameter, weight in kept:
            parameter.data = weight
