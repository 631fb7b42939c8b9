"""The bilinear form: "general" of https://arxiv.org/abs/1508.04025, section 3.1, and its scaled variant."""

from typing import Annotated, Any

import torch
from torch import Tensor, nn

from regard.aliases import alias
from regard.attention.parts import Score
from regard.config import Doc


class BilinearScore(Score):
    """query · W key, W (query_dim, key_dim); the keys are projected once per sentence.

    `scaled` multiplies it by a learned number g, 1 at the start (scaled Luong).

    Cost: O(n·m·d + m·d²)
    """

    aliases = (
        "双线性, 矩阵相乘",
        alias("luong_general", num_heads=1),
        alias("general", note="the bilinear score of Luong et al. 2015 (others mean what is not in the text)"),
        alias("luong", note="the bilinear score (the paper also has dot, concat and location)", num_heads=1),
        alias("multiplicative, 乘性, 乘法", note="the bilinear score (Vaswani et al. 2017 mean the dot product)"),
        alias("scaled_luong", {"scaled": True}, num_heads=1),
    )

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        bias: Annotated[bool, Doc("Add a bias to the projected keys.")] = False,
        scaled: Annotated[bool, Doc("Multiply by a learned number, 1 at the start (scaled Luong).")] = False,
    ) -> None:
        super().__init__()
        self.from_key = nn.Linear(key_dim, query_dim, bias=bias)
        self.scale = nn.Parameter(torch.tensor(1.0)) if scaled else None

    def prepare(self, keys: Tensor) -> Tensor:
        """(..., key, key_dim) → W keys (..., key, query_dim)."""
        prepared: Tensor = self.from_key(keys)
        return prepared

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        ours, theirs = self.inner(queries, prepared, past)
        return ours @ theirs.transpose(-2, -1)

    def inner(self, queries: Tensor, prepared: Tensor, past: Any) -> tuple[Tensor, Tensor]:
        return queries if self.scale is None else queries * self.scale, prepared
