"""Local attention with a predicted place, "local-p" of https://arxiv.org/abs/1508.04025, section 3.2."""

from typing import Annotated, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.aliases import alias
from regard.attention.parts import Memory, Span, View, Window
from regard.config import Doc
from regard.config.bounds import Size
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


class LocalPredictiveSpan(Span):
    """p = S · sigmoid(v · tanh(W query)) (equation 9), S the number of visible keys.

    A query sees the keys at a distance of at most `radius` from p. With `gaussian` their weights, a softmax over the
    window, are multiplied by exp(-(key - p)² / (2 (radius / 2)²)) (equation 10); `renormalise` makes them sum to one
    again. Without a Gaussian W and v get no gradient. Positions count from 0.

    Cost: O(n·r·d)
    """

    aliases = (
        "local_p, predictive_alignment, semi_hard, 预测局部, 预测性校准, 预测对齐",
        alias("local, 局部", note="local-p of Luong et al. 2015 (others mean local-m, a region, or the text alone)"),
    )
    whole = True
    by_place = True

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        radius: Annotated[Size, Doc("Window radius: maximum distance from the predicted position to a key.")] = 10,
        hidden_dim: Annotated[Size, Doc("Width of the hidden layer that predicts the position.")] = 64,
        gaussian: Annotated[
            bool, Doc("Multiply the weights by a Gaussian around the position, which trains the position.")
        ] = True,
        renormalise: Annotated[bool, Doc("Renormalise the weights after the Gaussian.")] = False,
    ) -> None:
        super().__init__()
        need_window(radius, gaussian=gaussian, renormalise=renormalise)
        self.from_query = nn.Linear(query_dim, hidden_dim, bias=False)
        self.to_place = nn.Linear(hidden_dim, 1, bias=False)
        self.radius, self.gaussian, self.renormalise = radius, gaussian, renormalise

    def window(self, queries: Tensor, memory: Memory, past: Any) -> Window:
        """Return the window of 2 radius + 1 places that may be within the radius."""
        return Window((self._predicted(queries, memory) - self.radius).ceil().long(), 2 * self.radius + 1)

    def view_at(self, queries: Tensor, memory: Memory, past: Any, places: Tensor) -> View:
        """queries (..., query, query_dim) → a window around the predicted place of each."""
        distance = places - self._predicted(queries, memory).unsqueeze(-1)
        settings = {"gaussian": self.gaussian, "renormalise": self.renormalise}
        return near(distance, self.radius, **settings, dtype=queries.dtype)

    def _predicted(self, queries: Tensor, memory: Memory) -> Tensor:
        """Return p (..., query), computed in float32 or wider: bfloat16 has no odd numbers above 256."""
        length = memory.keys.shape[-2] if memory.mask is None else memory.mask.sum(dim=-1).unsqueeze(-1)
        exact = wide(queries.dtype)
        from_query, to_place = self.from_query.weight.to(exact), self.to_place.weight.to(exact)
        with torch.autocast(queries.device.type, enabled=False):
            share = functional.linear(torch.tanh(functional.linear(queries.to(exact), from_query)), to_place)
            return length * torch.sigmoid(share.squeeze(-1))
