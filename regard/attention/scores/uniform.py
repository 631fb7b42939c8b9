"""No score at all: every key that is seen counts the same (https://arxiv.org/abs/1908.04626, section 3.2)."""

from typing import Any

from torch import Tensor

from regard.attention.parts import Score


class UniformScore(Score):
    """0 for every key: under softmax the context is the mean of the values that the span shows.

    It has no weights, so it is the score for a span that shows a single key, as `same_position` does: the weight of
    that key is 1 whatever its score. Queries and keys may be of any widths.

    Cost: O(n·m)
    """

    aliases = "equal_weights, 均匀"

    def prepare(self, keys: Tensor) -> Tensor:
        """(..., key, key_dim) → zeros (..., key, 1)."""
        return keys.new_zeros(*keys.shape[:-1], 1)

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, query_dim) and prepared keys → zeros (..., query, key)."""
        return queries.new_zeros(*queries.shape[:-1], 1) @ prepared.transpose(-2, -1)
