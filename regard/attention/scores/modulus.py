"""The modulus of a complex product: attention of https://arxiv.org/abs/1912.12333, section 3."""

import math
from typing import Annotated, Any

from torch import Tensor

from regard.attention.parts import Score
from regard.attention.scores.dot import need_equal
from regard.config import Doc


class ModulusScore(Score):
    """|queryᴴ key| / sqrt(dim), real and never negative, for complex or real vectors. Needs query_dim = key_dim.

    Without `scaled` it is not divided. For real vectors it is the size of the dot product, whatever its sign.

    Cost: O(n·m·d)
    """

    aliases = "complex, complex_valued"

    def __init__(
        self, query_dim: int, key_dim: int, *, scaled: Annotated[bool, Doc("Divide by sqrt(dim).")] = True
    ) -> None:
        super().__init__()
        need_equal(query_dim, key_dim)
        self.scale = 1.0 / math.sqrt(query_dim) if scaled else 1.0

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, dim) and keys (..., key, dim) → scores (..., query, key)."""
        return ((queries.conj() * self.scale) @ prepared.transpose(-2, -1)).abs()
