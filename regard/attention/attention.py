"""The socket every mechanism plugs into (Bahdanau et al. 2015; Luong et al. 2015; Vaswani et al. 2017)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.kernels import attend
from regard.attention.parts import OWN, READ, Attended, Memory, Role, Score, Span, Weighting
from regard.compat import uncompiled
from regard.errors import PartError
from regard.ops.kernels.transformer import MOST_HEADS, StandardAttention
from regard.ops.linear import Linear


class Heads(nn.Module):
    """head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V); out = [head_1 … head_h] W^O.

    Heads are split off `inner_dim` (default query_dim), so head_dim = inner_dim / num_heads.
    Raises ConfigError where num_heads does not divide inner_dim.
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        value_dim: int | None = None,
        *,
        num_heads: int = 8,
        inner_dim: int | None = None,
        bias: bool = True,
        out_proj: bool = True,
    ) -> None:
        super().__init__()
        inner = inner_dim or query_dim
        if num_heads < 1 or inner % num_heads:
            divisors = ", ".join(str(heads) for heads in range(1, inner + 1) if inner % heads == 0)
            problem = f"{num_heads} heads do not divide dim {inner}"
            raise PartError(problem, f"choose one of {divisors}", setting="num_heads")
        self.num_heads, self.head_dim, self.inner_dim = num_heads, inner // num_heads, inner
        self.from_query = Linear(query_dim, inner, bias=bias)
        self.from_key = Linear(key_dim, inner, bias=bias)
        self.from_value = Linear(value_dim or key_dim, inner, bias=bias)
        self.to_out: nn.Module = nn.Identity()
        self.dim = inner
        linears = [self.from_query, self.from_key, self.from_value]
        if out_proj:
            self.to_out = Linear(inner, query_dim, bias=bias)
            self.dim = query_dim
            linears.append(self.to_out)
        for linear in linears:
            nn.init.xavier_uniform_(linear.weight)
            if bias:
                nn.init.zeros_(linear.bias)

    def queries(self, queries: Tensor) -> Tensor:
        """(batch, query, query_dim) → (batch, head, query, head_dim)."""
        return self._split(self.from_query(queries))

    def keys_and_values(self, keys: Tensor, values: Tensor | None) -> tuple[Tensor, Tensor]:
        """(batch, key, key_dim) each → (batch, head, key, head_dim) each."""
        split = self._split(self.from_key(keys)), self._split(self.from_value(keys if values is None else values))
        if torch.is_grad_enabled():
            return split
        return split[0].contiguous(), split[1].contiguous()  # a search reads them at every step

    def join(self, context: Tensor) -> Tensor:
        """(batch, head, query, head_dim) → (batch, query, dim)."""
        joined: Tensor = self.to_out(context.transpose(-3, -2).flatten(-2))
        return joined

    def _split(self, vectors: Tensor) -> Tensor:
        return vectors.unflatten(-1, (self.num_heads, self.head_dim)).transpose(-3, -2)


class Attention(nn.Module):
    """context_i = sum_j weights_ij value_j, weights = weighting(score(query_i, key_j)) over what the span shows.

    With `heads`, queries, keys and values are projected and the head is one more leading axis; weights are then
    (batch, head, query, key). With a `gate` (query_dim → 1) the context is multiplied by sigmoid(gate(query)), which
    leaves the weights as they are (https://arxiv.org/abs/1502.03044, section 4.2.1). A query that sees no key gets a
    zero context, zero weights and finite gradients. `role` is stamped by what makes it.
    """

    def __init__(
        self,
        score: Score,
        span: Span,
        weighting: Weighting,
        heads: Heads | None = None,
        gate: nn.Linear | None = None,
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.score, self.span, self.weighting, self.heads, self.gate = score, span, weighting, heads, gate
        self.dropout = dropout
        self.place = ""  # the setting that it was made from: model.attention
        self.role = Role()

    @property
    def parts(self) -> tuple[Score, Span, Weighting]:
        return self.score, self.span, self.weighting

    @property
    def sequential(self) -> bool:
        return any(part.sequential for part in self.parts)

    def standard(self) -> StandardAttention | None:
        """Return the layers of softmax(scale · q kᵀ) v over all keys, or all so far; None where it is not that."""
        heads, scale = self.heads, self.score.dot_scale
        if heads is None or scale is None or self.gate is not None or heads.num_heads > MOST_HEADS:
            return None
        shown, out = "past" if self.role.causal else "all", heads.to_out
        if heads.inner_dim != heads.from_query.in_features:
            return None
        if not self.weighting.softmax or self.span.shown != shown or not isinstance(out, nn.Linear):
            return None
        return StandardAttention(heads.num_heads, scale, heads.from_query, heads.from_key, heads.from_value, out)

    def context_dim(self, value_dim: int) -> int:
        """Return the width of a context for values of width `value_dim`."""
        return value_dim if self.heads is None else self.heads.dim

    def remember(self, keys: Tensor, values: Tensor | None = None, mask: Tensor | None = None) -> Memory:
        """keys (batch, key, key_dim), values (default: the keys), mask (batch, key) → memory, projected once."""
        mask = None if mask is None or _all_true(mask) else mask
        if self.heads is not None:
            keys, values = self.heads.keys_and_values(keys, values)
            mask = None if mask is None else mask.unsqueeze(-2)
        return Memory(self.score.prepare(keys), keys if values is None else values, mask)

    def begin(self, queries: Tensor, memory: Memory) -> tuple[Any, ...]:
        """Return the past before the first query, for a caller that repeats rows first. There may be no queries."""
        return self._begin(queries if self.heads is None else self.heads.queries(queries), memory)

    def forward(
        self,
        queries: Tensor,
        memory: Memory,
        past: tuple[Any, ...] | None = None,
        *,
        mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> Attended:
        """queries (batch, query, query_dim) → context (batch, query, value_dim). Past None starts.

        `mask` (batch, query, key), True = visible, hides keys from single queries, besides the memory's own mask.
        """
        share = None if self.gate is None else self.gate(queries).sigmoid()
        if self.heads is not None:
            queries = self.heads.queries(queries)
            mask = None if mask is None else mask.unsqueeze(-3)
        if past is None:
            past = self._begin(queries, memory)
        if self.sequential and queries.shape[-2] != 1:
            attended = self._one_by_one(queries, memory, past, mask)
        else:
            attended = self._together(queries, memory, past, mask, need_weights or self.sequential)
        if not need_weights:
            attended = attended._replace(weights=None)
        if self.heads is not None:
            attended = attended._replace(context=self.heads.join(attended.context))
        return attended if share is None else attended._replace(context=share * attended.context)

    def _begin(self, queries: Tensor, memory: Memory) -> tuple[Any, ...]:
        return tuple(part.begin(queries, memory) for part in self.parts)

    def _together(
        self, queries: Tensor, memory: Memory, past: tuple[Any, ...], mask: Tensor | None, need_weights: bool
    ) -> Attended:
        dropout = self.dropout if self.training else 0.0
        attended, scores = attend(
            self.parts, queries, memory, past, mask=mask, dropout=dropout, need_weights=need_weights
        )
        after = tuple(part.after(old, attended, scores) for part, old in zip(self.parts, past, strict=True))
        return attended._replace(past=after)

    def _one_by_one(self, queries: Tensor, memory: Memory, past: tuple[Any, ...], mask: Tensor | None) -> Attended:
        steps = []
        for place, query in enumerate(queries.split(1, dim=-2)):
            shown = None if mask is None else mask[..., place : place + 1, :]
            steps.append(self._together(query, memory, past, shown, True))
            past = steps[-1].past
        weights = torch.cat([step.weights for step in steps if step.weights is not None], dim=-2)
        terms = {name: torch.cat([step.terms[name] for step in steps], dim=-1) for name in steps[0].terms}
        return Attended(torch.cat([step.context for step in steps], dim=-2), weights, past, terms)


def attentions_in(module: nn.Module) -> dict[str, Attention]:
    """Return every attention in a module by its name; a compiled module has the names of the plain one."""
    return {name: part for name, part in uncompiled(module).named_modules() if isinstance(part, Attention)}


def extend(memory: Memory | None, more: Memory) -> Memory:
    """Append keys to a memory: the KV cache of self-attention."""
    if memory is None:
        return more
    mask = more.mask
    if memory.mask is not None or more.mask is not None:
        mask = torch.cat([_mask_of(memory), _mask_of(more)], dim=-1)
    keys, values = torch.cat([memory.keys, more.keys], dim=-2), torch.cat([memory.values, more.values], dim=-2)
    return Memory(keys, values, mask)


def _mask_of(memory: Memory) -> Tensor:
    if memory.mask is not None:
        return memory.mask
    shape = memory.keys.shape[:-1]
    return memory.keys.new_ones(shape[:1] + (1,) * (len(shape) - 2) + shape[-1:], dtype=torch.bool)


def _all_true(mask: Tensor) -> bool:
    """Check on a CPU only: a GPU would have to synchronise, and a compiled graph cannot branch on the result."""
    return mask.device.type == "cpu" and not torch.compiler.is_compiling() and bool(mask.all())


Cross = Callable[[int, int], Attention]  # (query_dim, key_dim)
Own = Callable[[int], Attention]  # (dim)


class Sockets:
    """Constructors of attention that set its role; `Attention.context_dim` returns the width of its context."""

    def __init__(self, cross: Cross, itself: Own, causal: Own) -> None:
        """`cross` attends to an encoder's states, `itself` to its own sequence, `causal` to the past of that."""
        self.cross: Cross = lambda query_dim, key_dim: stamped(cross(query_dim, key_dim), Role(OWN, READ))
        self.itself: Own = lambda dim: stamped(itself(dim), Role(OWN, OWN))
        self.causal: Own = lambda dim: stamped(causal(dim), Role(OWN, OWN, causal=True))


def stamped(attention: Attention, role: Role) -> Attention:
    """Return the attention with this role."""
    attention.role = role
    return attention


def name_columns(part: nn.Module, own: str, read: str | None = None) -> None:
    """Set the columns of every attention in a module: `own`, and `read` beside it."""
    columns = {OWN: own, READ: read}
    for attention in attentions_in(part).values():
        queries, keys, *_ = attention.role
        attention.role = attention.role._replace(
            queries=columns.get(queries or "", queries), keys=columns.get(keys or "", keys)
        )


def turn_around(part: nn.Module) -> None:
    """Mark the sequence of every attention in a module as reversed."""
    for attention in attentions_in(part).values():
        attention.role = attention.role._replace(reversed=not attention.role.reversed)
