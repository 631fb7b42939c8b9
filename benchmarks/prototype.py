"""A plain Transformer for one purpose: how fast torch trains one of this size when nothing has to be general.

It computes what the shipped translator computes (pre-norm, sinusoids, one table of words, label smoothing), with three
techniques: everything that is done place by place is done on real tokens only, queries, keys and values are one
product, and the loss never holds all logits.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

CHUNK = 512  # rows of logits at once
LEAST = 1e-30  # probability whose logarithm is taken
PLACES = 512


class Sizes(NamedTuple):
    """What the model is built of."""

    vocabulary: int
    dim: int
    heads: int
    feedforward: int
    encoder_layers: int
    decoder_layers: int
    dropout: float


class Packing:
    """Which places of a padded batch hold real tokens."""

    def __init__(self, ids: Tensor, padding: int) -> None:
        self.mask = ids != padding  # (rows, n)
        self.places = self.mask.flatten().nonzero().squeeze(1)
        self.full = len(self.places) == self.mask.numel()

    def pack(self, padded: Tensor) -> Tensor:
        """(rows, n, …) → (tokens, …)."""
        flat = padded.flatten(0, 1)
        return flat if self.full else flat[self.places]

    def unpack(self, packed: Tensor) -> Tensor:
        """(tokens, dim) → (rows, n, dim), zeros where nothing is."""
        if not self.full:
            packed = packed.new_zeros(self.mask.numel(), packed.shape[1]).index_copy(0, self.places, packed)
        return packed.view(*self.mask.shape, -1)


class SmoothedLoss(torch.autograd.Function):
    """The sum over rows of label-smoothed cross-entropy of states · tableᵀ, with its gradients found on the way."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, table: Tensor, targets: Tensor, smoothing: float) -> Tensor:
        """states (tokens, dim), table (vocab, dim), targets (tokens,) → a number."""
        share = smoothing / len(table)  # of every word
        of_states, of_table, summed = torch.empty_like(states), torch.zeros_like(table), table.sum(0)
        logits, chances = (states.new_empty(min(CHUNK, len(states)), len(table)) for _ in range(2))
        total = states.new_zeros(())
        for start in range(0, len(states), CHUNK):
            rows, wanted = states[start : start + CHUNK], targets[start : start + CHUNK, None]
            torch.mm(rows, table.T, out=logits[: len(rows)])
            torch.softmax(logits[: len(rows)], 1, out=chances[: len(rows)])
            gold, chance = logits.gather(1, wanted), chances.gather(1, wanted).clamp_min(LEAST).log()
            normalisers = gold - chance
            total -= (1 - smoothing) * chance.sum() + share * (rows @ summed).sum() - smoothing * normalisers.sum()
            torch.mm(chances[: len(rows)], table, out=of_states[start : start + CHUNK])
            of_table.addmm_(chances[: len(rows)].T, rows)
        of_states.sub_(table[targets], alpha=1 - smoothing).sub_(summed, alpha=share)
        of_table.index_add_(0, targets, states, alpha=smoothing - 1).sub_(states.sum(0), alpha=share)
        ctx.save_for_backward(of_states, of_table)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """What `forward` found, times the gradient of the sum."""
        of_states, of_table = ctx.saved_tensors
        return of_states * gradient, of_table * gradient, None, None


class AttentionExplainer(nn.Module):
    """Multi-head attention of packed tokens to their own sequence, or to a source."""

    def __init__(self, sizes: Sizes, *, to_source: bool, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal, self.to_source = sizes.heads, causal, to_source
        self.project = nn.Linear(sizes.dim, sizes.dim * (1 if to_source else 3))
        self.read = nn.Linear(sizes.dim, 2 * sizes.dim) if to_source else None
        self.out = nn.Linear(sizes.dim, sizes.dim)

    def forward(self, states: Tensor, own: Packing, source: Tensor | None, other: Packing) -> Tensor:
        """(tokens, dim) → (tokens, dim)."""
        parts = own.unpack(self.project(states)).chunk(1 if self.to_source else 3, dim=-1)
        if self.read is not None and source is not None:
            parts = (*parts, *other.unpack(self.read(source)).chunk(2, dim=-1))
        queries, keys, values = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        mask = None if self.causal or other.full else other.mask[:, None, None]
        seen = functional.scaled_dot_product_attention(queries, keys, values, mask, is_causal=self.causal)
        return self.out(own.pack(seen.transpose(1, 2).flatten(2)))


class Block(nn.Module):
    """Attention to its own sequence, to the source where there is one, and a feed-forward; each normalised before."""

    def __init__(self, sizes: Sizes, *, writes: bool) -> None:
        super().__init__()
        looks = [AttentionExplainer(sizes, to_source=False, causal=writes)]
        if writes:
            looks.append(AttentionExplainer(sizes, to_source=True, causal=False))
        self.looks = nn.ModuleList(looks)
        self.norms = nn.ModuleList(nn.LayerNorm(sizes.dim) for _ in range(len(looks) + 1))
        self.hidden, self.out = nn.Linear(sizes.dim, sizes.feedforward), nn.Linear(sizes.feedforward, sizes.dim)
        self.drop = nn.Dropout(sizes.dropout)

    def forward(self, states: Tensor, own: Packing, source: Tensor | None, other: Packing) -> Tensor:
        """(tokens, dim) → (tokens, dim)."""
        for look, norm in zip(self.looks, self.norms, strict=False):
            states = states + self.drop(look(norm(states), own, source, other if look.to_source else own))
        return states + self.drop(self.out(functional.relu(self.hidden(self.norms[-1](states)))))


class Prototype(nn.Module):
    """Source and target ids → the loss, summed over target tokens."""

    def __init__(self, sizes: Sizes, padding: int) -> None:
        super().__init__()
        self.padding, self.scale = padding, math.sqrt(sizes.dim)
        self.table = nn.Parameter(torch.randn(sizes.vocabulary, sizes.dim) / self.scale)
        rates = torch.exp(torch.arange(0, sizes.dim, 2) * (-math.log(1e4) / sizes.dim))
        angles = torch.arange(PLACES)[:, None] * rates
        self.places = nn.Buffer(torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1))
        self.encoder = nn.ModuleList(Block(sizes, writes=False) for _ in range(sizes.encoder_layers))
        self.decoder = nn.ModuleList(Block(sizes, writes=True) for _ in range(sizes.decoder_layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(sizes.dim), nn.LayerNorm(sizes.dim)
        self.drop = nn.Dropout(sizes.dropout)

    def forward(self, source: Tensor, read: Tensor, labels: Tensor, smoothing: float) -> Tensor:
        """ids (rows, source), and (rows, target) that are read and that are to be written → a number."""
        other, own = Packing(source, self.padding), Packing(read, self.padding)
        seen = self.embedded(source, other)
        for block in self.encoder:
            seen = block(seen, other, None, other)
        seen, states = self.encoder_norm(seen), self.embedded(read, own)
        for block in self.decoder:
            states = block(states, own, seen, other)
        loss: Any = SmoothedLoss  # whose `apply` is untyped in torch
        return loss.apply(self.decoder_norm(states), self.table, own.pack(labels), smoothing)

    def embedded(self, ids: Tensor, packing: Packing) -> Tensor:
        """(rows, n) → (tokens, dim)."""
        places = torch.arange(ids.shape[1]).expand_as(ids)
        vectors = functional.embedding(packing.pack(ids), self.table) * self.scale + self.places[packing.pack(places)]
        return self.drop(vectors)
