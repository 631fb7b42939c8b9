"""What decoders read, kept once per sentence however many rows are written of it."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.attention import Attended, Attention, Memory
from regard.records import select


class SharedSource(NamedTuple):
    """Rows stand in groups of `fold` that read the same sentence."""

    memories: tuple[Memory, ...]  # one row per group
    fold: int = 1

    def select(self, rows: Tensor, *, together: bool = True) -> "SharedSource":
        """Rows in that order. Whole groups stay folded; torn ones, or all if not `together`, get a memory per row."""
        sentences, counts = torch.unique_consecutive(rows // self.fold, return_counts=True)
        fold = int(counts[0]) if len(rows) else 1
        if not together or bool((counts != fold).any()):
            sentences, fold = rows // self.fold, 1
        memories = self.memories
        if len(memories) and not _is_range(sentences, len(memories[0].keys)):
            memories = select(memories, sentences)
        return SharedSource(memories, fold)

    def unfolded(self) -> "SharedSource":
        """A memory per row."""
        if self.fold == 1 or not self.memories:
            return self
        keys = self.memories[0].keys
        sentences = torch.arange(len(keys), device=keys.device).repeat_interleave(self.fold)
        return SharedSource(select(self.memories, sentences), 1)


def look(
    attention: Attention, queries: Tensor, memory: Memory, past: Any, *, fold: int, need_weights: bool
) -> Attended:
    """queries (rows, n, dim), n = 1 where fold > 1 → contexts (rows, n, dim); weights are the mean over the heads."""
    folded = queries.view(-1, fold, queries.shape[-1]) if fold > 1 else queries
    looked: Attended = attention(folded, memory, past, need_weights=need_weights)
    weights = looked.weights
    if weights is not None:
        weights = weights.mean(dim=1) if weights.dim() == 4 else weights  # (batch, head, query, key)
        weights = weights.reshape(*queries.shape[:-1], weights.shape[-1])
    context = looked.context
    return looked._replace(context=context.reshape(*queries.shape[:-1], context.shape[-1]), weights=weights)


def has_past(past: Any) -> bool:
    """Whether an attention remembers anything that may differ between rows of a group; pasts stand in nested tuples."""
    return any(map(has_past, past)) if isinstance(past, tuple) else past is not None


def _is_range(rows: Tensor, length: int) -> bool:
    return len(rows) == length and bool((rows == torch.arange(length, device=rows.device)).all())
