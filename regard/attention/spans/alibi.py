"""Attention with linear biases: https://arxiv.org/abs/2108.12409."""

import math

import torch
from torch import Tensor

from regard.attention.parts import Memory, View
from regard.attention.spans.counting import CountingSpan
from regard.ops.functional import wide


class AlibiSpan(CountingSpan):
    """score_ij - slope_h · |i - j|, slope_h = 2^(-8 h / H) for head h = 1 … H: the farther, the less.

    Both sides count alike, for encoders; under a causal span this is the paper's form. Heads stand on the third axis
    from the end of queries (batch, head, query, dim); with fewer axes there is one head, and its slope is 2^-8. Nothing
    is learned, and no place is too far, so sentences may be longer than those a model was trained on.

    Cost: O(n·m·d)
    """

    aliases = "linear_biases, attention_with_linear_biases"

    def view_at(self, queries: Tensor, memory: Memory, past: int, places: Tensor) -> View:
        """queries (..., head, query, query_dim) → a bias (1, head, query, key)."""
        distance = (places - self.places(queries, past)).abs()
        slopes = _slopes(queries)
        return View(bias=(-slopes * distance).to(queries.real.dtype))


def _slopes(queries: Tensor) -> Tensor:
    """(1, head, 1, 1), as many axes as the queries have; in float32 at least, as distances above 256 need it."""
    shape = [1] * queries.dim()
    if len(shape) >= 4:
        shape[-3] = queries.shape[-3]
    dtype = wide(queries.real.dtype)
    heads = torch.arange(1, math.prod(shape) + 1, dtype=dtype, device=queries.device)
    return torch.exp2(-8.0 * heads / len(heads)).view(shape)
