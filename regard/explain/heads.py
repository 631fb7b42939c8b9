"""Heads of attention: their patterns and their importance.

Patterns are those of https://aclanthology.org/P19-1580 and https://aclanthology.org/W19-4828; hooks alone ablate heads
or weight them by gates (https://arxiv.org/abs/1905.10650).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.arrays import Floats
from regard.attention.attention import Attention, Heads, attentions_in
from regard.explain.alignment_view import MEMORY, START
from regard.explain.maps import POOLING
from regard.models import Model
from regard.ops.plain import plain
from regard.pieces import SPECIALS, UNK
from regard.records import Batch
from regard.results import AttentionMap, Explanation

PATTERNS = ("previous", "same", "next", "diagonal", "separator", "rarest")
CLEAR = 0.5  # share of the words from which on a pattern names a head
_NEAR = 1  # places from the diagonal
SEPARATORS = {one for number, one in enumerate(SPECIALS) if number != UNK}

Mask = NDArray[np.bool_]


class LargestWeights(NamedTuple):
    """The key of the largest weight of each word, in one map of one example."""

    choice: NDArray[np.int64]  # (head, query): places of keys
    largest: Floats  # (head, query): their weights
    keys: list[str]  # the pieces attended to
    own: bool  # words attend to their own text
    crosses: bool  # words attend to another text
    causal: bool  # no word sees those behind it
    blind: Mask  # (query,): sees no key at all


class HeadPatterns(NamedTuple):
    """Patterns of the heads of one attention."""

    shares: Floats  # (head, pattern) of the words that could follow a pattern; nan: no word could
    confidence: Floats  # (head,): the mean of the largest weights


def largest_weights_of(found: Explanation, seen: AttentionMap) -> LargestWeights | None:
    """Return where one map of an explanation has its largest weights; None for slots of a memory and empty maps."""
    weights = np.array(seen.weights, dtype=float)
    if weights.ndim < 3 or not weights.size or seen.kind == MEMORY:
        return None
    labels = found.array(seen).labels[-1]
    if seen.kind == "decoder":  # it reads a piece after it was written
        labels = [START, *labels[:-1]]
    width = weights.shape[-1]
    keys = [*labels, *[""] * (width - len(labels))][:width]
    own = seen.queries == seen.keys and seen.kind != POOLING and weights.shape[1] == width
    causal, blind = own and not np.triu(weights, 1).any(), np.all(weights == 0, axis=(0, 2))
    crosses = seen.kind != POOLING and not own
    return LargestWeights(weights.argmax(axis=-1), weights.max(axis=-1), keys, own, crosses, causal, blind)


def patterns(largest_weights: Sequence[LargestWeights], counts: Mapping[str, int]) -> HeadPatterns:
    """Return how often the largest weights of one attention follow each pattern.

    previous, same and next: one place before, at or behind a word's own; diagonal: near the corresponding place of the
    other text; separator: at a piece without text; rarest: at the rarest visible piece, by `counts` of pieces. Words
    do not count where a pattern is the only choice, or impossible.
    """
    heads = len(largest_weights[0].choice)
    hits, words, largest, rows = np.zeros((heads, len(PATTERNS))), np.zeros(len(PATTERNS)), np.zeros(heads), 0
    for large in largest_weights:
        shape = large.choice.shape[1], len(large.keys)  # which keys each word sees
        visible = np.tril(np.ones(shape, dtype=bool)) if large.causal else np.ones(shape, dtype=bool)
        largest += large.largest[:, ~large.blind].sum(axis=-1)
        rows += int((~large.blind).sum())
        for number, wanted in enumerate(_wanted(large, visible, counts)):
            counted = (wanted & visible).any(axis=-1) & (~wanted & visible).any(axis=-1) & ~large.blind
            hits[:, number] += wanted[np.arange(len(wanted)), large.choice][:, counted].sum(axis=-1)
            words[number] += counted.sum()
    shares = np.divide(hits, words, out=np.full_like(hits, np.nan), where=words > 0)
    return HeadPatterns(shares, largest / max(rows, 1))


def pattern_of(shares: Floats) -> str:
    """Return the pattern (pattern,) that most words of a head follow; "": none is clear."""
    known = np.nan_to_num(shares)
    return PATTERNS[int(known.argmax())] if known.max() >= CLEAR else ""


def _wanted(large: LargestWeights, visible: Mask, counts: Mapping[str, int]) -> list[Mask]:
    """Return for each pattern the mask (query, key) of its keys."""
    queries, width = visible.shape
    steps = np.arange(width)[None, :] - np.arange(queries)[:, None]
    slope = (width - 1) / max(queries - 1, 1)
    diagonal = np.abs(np.arange(width)[None, :] - slope * np.arange(queries)[:, None]) <= _NEAR + 1e-9
    separator = np.array([key in SEPARATORS for key in large.keys])
    numbers = np.array([np.inf if key in SEPARATORS else float(counts.get(key, 0)) for key in large.keys])
    seen = np.where(visible, numbers, np.inf)
    rarest = (seen == seen.min(axis=-1, keepdims=True)) & np.isfinite(seen)
    positional = [(steps == step) & large.own for step in (-1, 0, 1)]
    return [*positional, diagonal & large.crosses, np.broadcast_to(separator, visible.shape), rarest]


def heads_in(model: Model) -> dict[str, tuple[Attention, Heads]]:
    """Return every attention with heads of its own, by the name of its module; without projections it has none."""
    return {name: (one, one.heads) for name, one in attentions_in(model).items() if one.heads is not None}


@contextmanager
def gated(model: Model, gates: Mapping[str, Tensor]) -> Iterator[None]:
    """Multiply the context of each head of these attentions by its gate (head,), before W^O: 0 ablates the head.

    Compiled code has no gates, so modules run uncompiled meanwhile, with the same results.
    """
    known = heads_in(model)
    with ExitStack() as stack:
        for name, gate in gates.items():
            _, heads = known[name]
            stack.callback(heads.to_out.register_forward_pre_hook(_multiplied(gate, heads.head_dim)).remove)
        yield


def gate_slopes(model: Model, batch: Batch) -> dict[str, Tensor]:
    """Return ∂L/∂gate (head,) of each attention at gates of 1: L is the loss of an item of the batch, in nats."""
    gates = {
        name: torch.ones(heads.num_heads, dtype=heads.from_value.weight.dtype, device=model.device).requires_grad_()
        for name, (_, heads) in heads_in(model).items()
    }
    with torch.enable_grad(), plain(), gated(model, gates):
        loss = model.nll(batch).sum() / model.counted(batch).sum().clamp(min=1)
        slopes = torch.autograd.grad(loss, [*gates.values()], allow_unused=True)
    found = zip(gates.items(), slopes, strict=True)
    return {name: torch.zeros_like(gate) if slope is None else slope for (name, gate), slope in found}


def _multiplied(gate: Tensor, head_dim: int) -> Any:
    """A hook that multiplies contexts (batch, query, head · head_dim), each head by its gate."""

    def hook(module: torch.nn.Module, arguments: tuple[Tensor, ...]) -> Tensor:
        (context,) = arguments
        return context * gate.to(context.dtype).repeat_interleave(head_dim)

    return hook
