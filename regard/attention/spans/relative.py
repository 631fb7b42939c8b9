"""Relative positions: https://arxiv.org/abs/1803.02155, equations 3 to 5."""

import math
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.parts import Memory, View
from regard.attention.spans.counting import CountingSpan
from regard.config import Doc
from regard.config.bounds import AnyFloat, Count
from regard.errors import ConfigError


class RelativeSpan(CountingSpan):
    """score_ij + scale · query_i · a^K_clip(j-i), context_i = sum_j weights_ij (value_j + a^V_clip(j-i)).

    Distances are clipped to ±max_distance; both tables have 2 · max_distance + 1 rows for all heads, and a^V, only with
    `values`, is as wide as the keys. `scale` is that of the score: left out it is 1 / sqrt(dim), with which
    "scaled_dot" is the paper's equation 4; give 1 with "dot". Queries meet the rows of a^K, not the places, so no
    (batch, query, key, dim) comes to be; a^V is looked up per (query, key), once for all sentences and heads.

    Cost: O(n·m·d)
    """

    aliases = "shaw, relative_position, relative_position_encoding, relative_self, 相对位置, 相对位置编码"

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        max_distance: Annotated[Count, Doc("Clipping distance: all keys farther away share one embedding.")] = 16,
        values: Annotated[bool, Doc("Add a learned distance embedding to the values.")] = True,
        scale: Annotated[
            AnyFloat | None, Doc("Scale of the distance scores; null: 1 / sqrt(dim), as in scaled_dot.")
        ] = None,
    ) -> None:
        super().__init__(query_dim, key_dim)
        self.max_distance = max_distance
        self.scale = 1.0 / math.sqrt(query_dim) if scale is None else scale
        self.to_keys = nn.Parameter(torch.empty(2 * max_distance + 1, query_dim))  # a^K
        self.to_values = nn.Parameter(torch.empty(2 * max_distance + 1, key_dim)) if values else None  # a^V
        for table in self.parameters():
            nn.init.xavier_uniform_(table)

    def view_at(self, queries: Tensor, memory: Memory, past: int, places: Tensor) -> View:
        """queries (..., query, query_dim) → a bias (..., query, key) and values (query, key, dim)."""
        rows = (places - self.places(queries, past)).clamp(-self.max_distance, self.max_distance) + self.max_distance
        by_row = (queries * self.scale) @ self.to_keys.t()
        bias = by_row.gather(-1, rows.expand(*by_row.shape[:-1], -1))
        if self.to_values is None:
            return View(bias=bias)
        width, wanted = self.to_values.shape[-1], memory.values.shape[-1]
        if width != wanted:
            problem = f"places are {width} wide as the keys are, but the values they are added to {wanted}"
            raise ConfigError("attention.span.values", problem, "use values: false, or heads")
        return View(bias=bias, values=functional.embedding(rows, self.to_values))
