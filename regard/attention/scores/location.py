"""The location-based score of https://arxiv.org/abs/1508.04025, equation 8."""

from typing import Annotated, Any

from torch import Tensor, nn

from regard.aliases import alias
from regard.attention.parts import Score
from regard.config import Doc
from regard.config.bounds import Size
from regard.errors import RegardError


class LocationScore(Score):
    """(W query)_j for the key in place j, whatever it is; W (max_length, query_dim).

    Raises RegardError for a memory of more than `max_length` keys.

    Cost: O(n·m·d)
    """

    aliases = ("location_based, 基于位置", alias("luong_location", num_heads=1))
    by_place = True

    def __init__(
        self, query_dim: int, key_dim: int, *, max_length: Annotated[Size, Doc("Longest source, in words.")] = 1024
    ) -> None:
        super().__init__()
        self.places = nn.Linear(query_dim, max_length, bias=False)

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, query_dim) and keys → scores (..., query, key)."""
        ours, rows = self.inner(queries, prepared, past)
        return ours @ rows.transpose(-2, -1)

    def inner(self, queries: Tensor, prepared: Tensor, past: Any) -> tuple[Tensor, Tensor]:
        """Queries as they are, and for keys the rows of W, the same for all sentences."""
        lead, num_keys = prepared.shape[:-2], prepared.shape[-2]
        rows = self.places.weight
        if num_keys > len(rows):
            problem = f"a source of {num_keys} pieces, but 'location' has learned {len(rows)} places"
            raise RegardError(f"{problem} (shorten it, or train with a larger attention.score.max_length)")
        return queries, rows[:num_keys].expand(*lead, -1, -1)
