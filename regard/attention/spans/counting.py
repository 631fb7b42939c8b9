"""What spans by place share: they must know how many queries came before."""

import torch
from torch import Tensor

from regard.attention.parts import Attended, Memory, Span


class CountingSpan(Span):
    """The past counts the queries already answered, so one step equals all steps."""

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()

    def begin(self, queries: Tensor, memory: Memory) -> int:
        """No query answered yet."""
        return 0

    def after(self, past: int, attended: Attended, scores: Tensor | None) -> int:
        """Counts these queries."""
        return past + attended.context.shape[-2]

    def places(self, queries: Tensor, past: int) -> Tensor:
        """(query, 1): where the queries (..., query, query_dim) stand, from 0."""
        return torch.arange(past, past + queries.shape[-2], device=queries.device).unsqueeze(-1)
