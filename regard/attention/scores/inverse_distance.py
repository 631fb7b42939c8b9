"""The match score of the attention-based convolutional network of two sentences (https://arxiv.org/abs/1512.05193)."""

from typing import Any

import torch
from torch import Tensor

from regard.attention.parts import Score
from regard.attention.scores.dot import need_equal
from regard.ops.functional import wide


class InverseDistanceScore(Score):
    """1 / (1 + |query - key|): 1 where both are the same, towards 0 with the distance. Needs query_dim = key_dim.

    Section 4.1 of the paper, which reads these scores as weights: beside the weighting `unnormalised` a key that is
    hidden has the weight 0. Distances are sums of squared differences, so those of equal vectors are exactly 0, where
    the gradient is taken as 0.

    Cost: O(n·m·d)
    """

    aliases = "match_score, abcnn_match"

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()
        need_equal(query_dim, key_dim)

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, dim) and keys (..., key, dim) → scores (..., query, key)."""
        ours, theirs = (some.to(wide(some.dtype)) for some in (queries, prepared))
        distances = torch.cdist(ours, theirs, compute_mode="donot_use_mm_for_euclid_dist")
        return (1.0 / (1.0 + distances)).to(queries.dtype)
