"""Rotary positions: https://arxiv.org/abs/2104.09864, section 3.2.2."""

import math
from typing import Annotated, Any

import torch
from torch import Tensor

from regard.attention.parts import Attended, Memory, Score
from regard.attention.scores.dot import need_equal
from regard.config import Doc
from regard.config.bounds import Positive
from regard.errors import PartError
from regard.ops.functional import wide


class RotaryScore(Score):
    """(R_i query_i) · (R_j key_j) / sqrt(dim), R_p turning the features 2f and 2f + 1 by p / base^(2f/dim) radians.

    So only j - i counts. Positions of queries come from the past, those of keys are their places in the memory, both
    from 0; keys are rotated again in each call. Needs query_dim = key_dim, an even number (per head).

    Cost: O(n·m·d)
    """

    aliases = "rope, roformer, rotary_position, rotary_position_embedding, 旋转位置, 旋转位置编码"
    by_place = True

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        base: Annotated[Positive, Doc("Largest wavelength, as a multiple of the smallest, 2π.")] = 10000.0,
    ) -> None:
        super().__init__()
        need_equal(query_dim, key_dim)
        if query_dim % 2:
            problem = f"turns features by pairs, but there are {query_dim} (per head)"
            raise PartError(f"'rotary' {problem}", "choose an even dim, and num_heads to divide it so")
        self.base, self.scale = base, 1.0 / math.sqrt(query_dim)

    def begin(self, queries: Tensor, memory: Memory) -> int:
        return 0

    def after(self, past: int, attended: Attended, scores: Any) -> int:
        return past + attended.context.shape[-2]

    def forward(self, queries: Tensor, prepared: Tensor, past: int) -> Tensor:
        """(..., query, dim) and keys (..., key, dim) → scores (..., query, key)."""
        turned, keys = self.inner(queries, prepared, past)
        return turned @ keys.transpose(-2, -1)

    def inner(self, queries: Tensor, prepared: Tensor, past: int) -> tuple[Tensor, Tensor]:
        """Both turned; the scale goes to the queries."""
        return self._turned(queries * self.scale, past), self._turned(prepared, 0)

    def _turned(self, vectors: Tensor, start: int) -> Tensor:
        """(..., n, dim) that stand at start … start + n - 1; angles in float64, as float32 loses far places."""
        num, dim = vectors.shape[-2:]
        features = torch.arange(0, dim, 2, dtype=torch.float64, device=vectors.device)
        places = torch.arange(start, start + num, dtype=torch.float64, device=vectors.device)
        angles = places.unsqueeze(-1) * torch.exp(features * (-math.log(self.base) / dim))
        exact = wide(vectors.dtype)
        pairs = vectors.to(exact).contiguous().unflatten(-1, (-1, 2))
        return _turn(pairs, angles.cos().to(exact), angles.sin().to(exact)).flatten(-2).to(vectors.dtype)


def _turn(pairs: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """(..., n, pair, 2), each pair turned: a product of complex numbers, an order of magnitude faster than of parts."""
    if not torch.compiler.is_compiling():
        return torch.view_as_real(torch.view_as_complex(pairs) * torch.complex(cosines, sines))
    first, second = pairs.unbind(-1)  # compilers know no complex numbers, and need none
    return torch.stack([first * cosines - second * sines, first * sines + second * cosines], dim=-1)
