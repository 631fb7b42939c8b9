"""Heads of attention taken out of a model, or weighed in it, by hooks alone (https://arxiv.org/abs/1905.10650)."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor

from regard.attention.attention import Attention, attentions_in
from regard.attention.multihead import Heads
from regard.models import Model
from regard.ops.plain import plain
from regard.records import Batch


def heads_in(model: Model) -> dict[str, tuple[Attention, Heads]]:
    """Return every attention with heads of its own, by the name of its module; without projections it has none."""
    return {name: (one, one.heads) for name, one in attentions_in(model).items() if one.heads is not None}


@contextmanager
def gated(model: Model, gates: Mapping[str, Tensor]) -> Iterator[None]:
    """Multiply what each head of these attentions found by its gate (head,), before W^O: 0 takes the head out.

    Compiled code sees no gate, so modules run meanwhile; what they compute is the same.
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
