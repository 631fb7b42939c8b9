"""Functions of every (query, key) pair, in chunks: (..., query, key, hidden) is never held at once.

Backward recomputes each chunk, so the memory kept for it has the size of the queries and the keys.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from regard.compat import functorch_is_active
from regard.ops.functional import wide
from regard.ops.plain import is_plain

FEW_NUMBERS, FEW_TO_LEARN = 2**16, 2**18  # numbers up to which the plain formula is as fast, without and with gradients
CHUNK_NUMBERS = 2**20  # numbers of a chunk on a CPU, 4 MB of float32: in less threads wait more, more leaves the cache
CHUNK_ELSEWHERE = 2**24  # on a GPU a launch costs more than a cache saves
SLICE = 2**24  # numbers that may well be held at once: 64 MB of float32
QUERIES = 16  # of a chunk at most, so that sums over its queries and over its keys are both long
TAME = {torch.float32: 30.0, torch.float64: 330.0}  # |query| up to which e^2q e^2k is exact enough whatever k is

Chunk = tuple[slice, slice, slice]  # rows, queries, keys


def additive_scores(queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """vector · tanh(query + key): (..., query, hidden), (..., key, hidden) and (hidden) → (..., query, key).

    Time as that of the plain formula or less: to a tenth on a CPU, where exponentials of queries and of keys are far
    fewer than tangents of all pairs. Double backward is right, but holds all pairs. float32 at least inside.
    """
    few = FEW_TO_LEARN if torch.is_grad_enabled() else FEW_NUMBERS
    if _must_be_plain() or queries.numel() * keys.shape[-2] <= few:
        return torch.tanh(queries[..., :, None, :] + keys[..., None, :, :]) @ vector
    lead = torch.broadcast_shapes(queries.shape[:-2], keys.shape[:-2])
    exact = wide(torch.promote_types(queries.dtype, keys.dtype))
    rows = [
        some.to(exact).expand(*lead, -1, -1).flatten(end_dim=-3) if lead else some[None] for some in (queries, keys)
    ]
    scores: Tensor = _additive(*rows, vector.to(exact))
    return scores.reshape(*lead, *scores.shape[-2:]).to(queries.dtype)


def in_slices(scores: Callable[[Tensor, Tensor], Tensor], queries: Tensor, keys: Tensor, hidden_dim: int) -> Tensor:
    """scores(queries, keys) (..., query, key), a few queries at a time, where it holds hidden_dim numbers a pair."""
    each = max(1, queries.shape[:-2].numel()) * keys.shape[-2] * hidden_dim  # numbers of one query
    size = max(1, SLICE // max(1, each))
    if _must_be_plain() or size >= queries.shape[-2]:
        return scores(queries, keys)
    few = queries.split(size, dim=-2)
    if not torch.is_grad_enabled():
        return torch.cat([scores(some, keys) for some in few], dim=-2)
    made = [checkpoint(scores, some, keys, use_reentrant=False, preserve_rng_state=False) for some in few]
    return torch.cat(made, dim=-2)


def _must_be_plain() -> bool:
    """Under torch.func no tensor can be written to in place."""
    return is_plain() or functorch_is_active()


@torch.library.custom_op("regard::additive_scores", mutates_args=())
def _additive(queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """(row, query, hidden), (row, key, hidden), (hidden) → (row, query, key). One operation to a compiler, which would
    hold all pairs."""
    scores = queries.new_empty(*queries.shape[:-1], keys.shape[-2])
    with torch.autocast(queries.device.type, enabled=False):
        for place, hidden in _hidden(queries, keys):
            scores[place] = hidden @ vector
    return scores


@torch.library.custom_op("regard::additive_gradients", mutates_args=())
def _gradients(queries: Tensor, keys: Tensor, vector: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradient of the scores → those of queries, keys and vector."""
    to_queries, to_keys, to_vector = (torch.zeros_like(some) for some in (queries, keys, vector))
    one = vector.new_ones(1)
    with torch.autocast(queries.device.type, enabled=False):
        for place, hidden in _hidden(queries, keys):
            rows, some_queries, some_keys = place
            outer = gradient[place]
            to_vector.addmv_(hidden.flatten(end_dim=-2).t(), outer.flatten())
            slope = torch.addcmul(one, hidden, hidden, value=-1, out=hidden)
            to_queries[rows, some_queries] += (outer.unsqueeze(-2) @ slope).squeeze(-2)
            slope.mul_(outer.unsqueeze(-1))
            to_keys[rows, some_keys] += slope.squeeze(1) if slope.shape[1] == 1 else slope.sum(dim=1)
    return to_queries.mul_(vector), to_keys.mul_(vector), to_vector


@_additive.register_fake
def _shape_of_scores(queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    return queries.new_empty(*queries.shape[:-1], keys.shape[-2])


@_gradients.register_fake
def _shapes_of_gradients(
    queries: Tensor, keys: Tensor, vector: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(queries), torch.empty_like(keys), torch.empty_like(vector)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    queries, keys, vector = ctx.saved_tensors
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():
        return _plain_gradients(queries, keys, vector, gradient)
    found: tuple[Tensor, Tensor, Tensor] = _gradients(queries, keys, vector, gradient)
    return found


_additive.register_autograd(_backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


def _hidden(queries: Tensor, keys: Tensor) -> Iterator[tuple[Chunk, Tensor]]:
    """(row, query, hidden), (row, key, hidden) → of each chunk its place and tanh(query + key), all in one room.

    tanh(q + k) = 1 - 2 / (1 + e^2q e^2k): torch's tanh takes ten times as long as all of this. An e^2k may overflow to
    inf or 0: beside tame queries the sum is then so large that its tanh is 1 or -1 to the last digit.
    """
    apart = queries.is_cpu and queries.shape[1] > 1 and bool(queries.abs().amax() <= TAME[queries.dtype])
    queries, keys = ((2 * queries).exp(), (2 * keys).exp()) if apart else (-2 * queries, keys)
    size = max(CHUNK_NUMBERS if queries.is_cpu else CHUNK_ELSEWHERE, QUERIES * queries.shape[-1])
    room, one = queries.new_empty(min(size, queries.numel() * keys.shape[1])), queries.new_ones(1)
    for place in _places(queries, keys, size):
        rows, some_queries, some_keys = place
        left, right = queries[rows, some_queries].unsqueeze(2), keys[rows, some_keys].unsqueeze(1)
        shape = torch.broadcast_shapes(left.shape, right.shape)
        hidden = room[: shape.numel()].view(shape)
        if apart:
            torch.addcmul(one, left, right, out=hidden).reciprocal_()
        else:
            torch.add(left, right, alpha=-2, out=hidden).sigmoid_()
        yield place, torch.add(one, hidden, alpha=-2, out=hidden)


def _places(queries: Tensor, keys: Tensor, size: int) -> Iterator[Chunk]:
    (num_rows, num_queries, dim), num_keys = queries.shape, keys.shape[1]
    few_queries = min(num_queries, QUERIES)
    few_keys = min(num_keys, size // (few_queries * dim))
    few_rows = size // (few_queries * few_keys * dim)
    for row in range(0, num_rows, few_rows):
        for query in range(0, num_queries, few_queries):
            for key in range(0, num_keys, few_keys):
                yield slice(row, row + few_rows), slice(query, query + few_queries), slice(key, key + few_keys)


def _plain_gradients(queries: Tensor, keys: Tensor, vector: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same in torch's own operations, for a second derivative."""
    hidden = torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1))
    slope = (1 - hidden.square()) * gradient.unsqueeze(-1)
    to_vector = (hidden * gradient.unsqueeze(-1)).sum(dim=(0, 1, 2))
    return slope.sum(dim=2) * vector, slope.sum(dim=1) * vector, to_vector
