"""Window and Gaussian of local attention (https://arxiv.org/abs/1508.04025, section 3.2)."""

import torch
from torch import Tensor

from regard.attention.parts import View
from regard.errors import PartError
from regard.ops.functional import wide


def near(distance: Tensor, radius: int, *, gaussian: bool, renormalise: bool, dtype: torch.dtype) -> View:
    """Distances (..., query, key) from the middle → mask of `radius`, and exp(-distance² / (2 (radius / 2)²)).

    The Gaussian multiplies the weights, or its logarithm is added to the scores: a softmax of that is the product
    normalised again.
    """
    shown = distance.abs() <= radius
    if not gaussian:
        return View(shown)
    exponent = -(distance.to(wide(dtype)) ** 2) / (2 * (radius / 2) ** 2)
    return View(shown, bias=exponent.to(dtype)) if renormalise else View(shown, gain=exponent.exp())


def need_window(radius: int, *, gaussian: bool, renormalise: bool) -> None:
    """Raise PartError unless a Gaussian has a width, and something to be renormalised."""
    if gaussian and radius < 1:
        raise PartError(f"is {radius}", "at least 1 with a Gaussian, or gaussian: false", setting="radius")
    if renormalise and not gaussian:
        raise PartError("there is no Gaussian", "set gaussian: true, or leave it out", setting="renormalise")
