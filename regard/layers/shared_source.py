"""Source memories of decoders, stored once per sentence for any number of generated rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.attention import Attended, Attention, Memory
from regard.records import select


class Reading(NamedTuple):
    """A source for one attention. Groups of `fold` rows of queries share a row of the memory."""

    memory: Memory  # one row per group
    past: Any = None  # of the attention; one row per row of queries
    fold: int = 1


class SharedSource(NamedTuple):
    """A source for all attentions of a decoder. Groups of `fold` rows read the same sentence."""

    memories: tuple[Memory, ...] = ()  # of each attention; one row per group
    pasts: tuple[Any, ...] = ()  # of each attention; one row per generated row
    fold: int = 1

    def reading(self, number: int) -> Reading | None:
        """Return the source of attention `number`; None without a source."""
        return Reading(self.memories[number], self.pasts[number], self.fold) if self.memories else None

    def after(self, seen: Sequence[Attended | None]) -> "SharedSource":
        """Return the source with the new pasts of its attentions."""
        return self._replace(pasts=tuple(one.past for one in seen if one is not None)) if self.memories else self

    def select(self, rows: Tensor) -> "SharedSource":
        """Select rows. Complete groups stay folded; others, or all if a past differs, get a memory per row."""
        if not self.memories:
            return self
        sentences, counts = torch.unique_consecutive(rows // self.fold, return_counts=True)
        fold = int(counts[0]) if len(rows) else 1
        if has_past(self.pasts) or bool((counts != fold).any()):
            sentences, fold = rows // self.fold, 1
        memories = self.memories
        if not _is_range(sentences, len(memories[0].keys)):
            memories = select(memories, sentences)
        return SharedSource(memories, select(self.pasts, rows), fold)

    def unfolded(self) -> "SharedSource":
        """Return the source with a memory per row."""
        if self.fold == 1 or not self.memories:
            return self
        keys = self.memories[0].keys
        sentences = torch.arange(len(keys), device=keys.device).repeat_interleave(self.fold)
        return self._replace(memories=select(self.memories, sentences), fold=1)


def shared(readings: list[Reading]) -> SharedSource:
    """Return the source of a decoder with these readings, one per attention, none of them folded."""
    return SharedSource(tuple(one.memory for one in readings), tuple(one.past for one in readings))


def begin(
    attention: Attention, query_dim: int, keys: Tensor, values: Tensor | None = None, mask: Tensor | None = None
) -> Reading:
    """Project keys (batch, key, key_dim) and values (default: the keys) once, with a mask (batch, key).

    The past is that before the first query, so rows may be repeated before the first step.
    """
    memory = attention.remember(keys, values, mask)
    return Reading(memory, attention.begin(keys.new_zeros(keys.shape[0], 0, query_dim), memory))


def read_source(attention: Attention, queries: Tensor, reading: Reading, *, need_weights: bool = False) -> Attended:
    """queries (rows, n, dim), n = 1 where fold > 1 → contexts (rows, n, dim); weights are the mean over the heads."""
    folded = queries.view(-1, reading.fold, queries.shape[-1]) if reading.fold > 1 else queries
    looked: Attended = attention(folded, reading.memory, reading.past, need_weights=need_weights)
    weights = looked.weights
    if weights is not None:
        weights = weights.mean(dim=1) if weights.dim() == 4 else weights  # (batch, head, query, key)
        weights = weights.reshape(*queries.shape[:-1], weights.shape[-1])
    context = looked.context
    return looked._replace(context=context.reshape(*queries.shape[:-1], context.shape[-1]), weights=weights)


def has_past(past: Any) -> bool:
    """Return whether the state of an attention may differ between rows of a group; pasts are nested tuples."""
    return any(map(has_past, past)) if isinstance(past, tuple) else past is not None


def _is_range(rows: Tensor, length: int) -> bool:
    return len(rows) == length and bool((rows == torch.arange(length, device=rows.device)).all())
