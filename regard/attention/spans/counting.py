"""What spans by place share: they must know how many queries came before, and can tell of any key by its place."""

import torch
from torch import Tensor

from regard.attention.parts import Attended, Memory, Span, View


class CountingSpan(Span):
    """The past counts the queries already answered, so one step equals all steps."""

    by_place = True

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


def places_of(memory: Memory) -> Tensor:
    """(key): where the keys stand, from 0."""
    return torch.arange(memory.keys.shape[-2], device=memory.keys.device)


def in_memory(view: View, memory: Memory) -> View:
    """What is said of every key, but none that the memory's own mask hides."""
    if memory.mask is None:
        return view
    shown = memory.mask.unsqueeze(-2)
    return view._replace(mask=shown if view.mask is None else view.mask & shown)
