"""Sinusoidal positions: https://arxiv.org/abs/1706.03762, section 3.5."""

import math
from typing import Annotated, Literal

import torch
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import Count
from regard.errors import PartError
from regard.layers.positions.position import Position

TABLE = 512  # precomputed places; later ones are computed on demand


class SinusoidalPosition(Position):
    """PE(p, 2i) = sin(p / 10000^(2i/dim)), PE(p, 2i+1) = cos(the same); an odd dim ends with a sine.

    layout "halves" puts all sines before all cosines: the same features in another order. frequencies "inclusive" takes
    10000^(-i/(dim/2 - 1)), so that the last one is 1/10000, as Marian and tensor2tensor have it. p begins at `offset`.

    Cost: O(n·d)
    """

    aliases = (
        "sinusoid, sinusoidal_position_encoding, sinusoidal_position, positional_encoding, "
        "position_encoding, absolute_position, pe, 正弦, 位置编码, 绝对位置, 绝对位置编码"
    )

    table: Tensor

    def __init__(
        self,
        dim: int,
        *,
        layout: Annotated[
            Literal["interleaved", "halves"], Doc("Layout of sines and cosines: interleaved, or all sines first.")
        ] = "interleaved",
        frequencies: Annotated[
            Literal["paper", "inclusive"],
            Doc("Frequencies 10000^(-i/(dim/2)), or up to 1/10000 inclusive, as in Marian: 10000^(-i/(dim/2 - 1))."),
        ] = "paper",
        offset: Annotated[Count, Doc("Number of the first position; M2M100 counts from 2.")] = 0,
    ) -> None:
        """Raises PartError for inclusive frequencies of fewer than 4 or an odd number of features."""
        super().__init__()
        self.dim, self.halves, self.inclusive = dim, layout == "halves", frequencies == "inclusive"
        self.offset = offset
        if self.inclusive and (dim < 4 or dim % 2):
            raise PartError(f"'inclusive' needs an even dim of 4 or more, not {dim}", "paper", setting="frequencies")
        self.register_buffer("table", self._vectors(torch.arange(TABLE)), persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        """(length, dim); any place has a vector."""
        start += self.offset
        if start + length <= TABLE:
            return self.table[start : start + length]
        places = torch.arange(start, start + length, device=self.table.device)
        return self._vectors(places).to(self.table.dtype)

    def _vectors(self, places: Tensor) -> Tensor:
        vectors = sinusoids(places, self.dim, inclusive=self.inclusive)
        return torch.cat([vectors[:, 0::2], vectors[:, 1::2]], dim=-1) if self.halves else vectors


def sinusoids(places: Tensor, dim: int, *, inclusive: bool = False) -> Tensor:
    """places (n,) → (n, dim), in float64 until the end: float32 loses far places.

    `inclusive`: the last frequency is 1/10000.
    """
    slowest = math.log(1e4) / (dim - 2 if inclusive else dim)
    rates = torch.exp(torch.arange(0, dim, 2, dtype=torch.float64, device=places.device) * -slowest)
    angles = places.double().unsqueeze(-1) * rates
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :dim]
    return waves.to(torch.get_default_dtype())
