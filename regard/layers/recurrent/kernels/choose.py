"""Choice of the recurrence's implementation: compiled code, step by step, or a parallel scan.

Gates that do not see the state make the recurrence linear, so steps may be joined before the first is known:
(f, u) then (f', u') is (f' f, f' u + u'), which is associative: log n rounds over all steps at once
(https://www.cs.cmu.edu/~guyb/papers/Ble93.pdf). Nothing is divided, so decays may be as small as they like.
"""

from typing import Any, cast

import torch
from torch import Tensor

from regard.layers.recurrent.kernels.sru import Ended, Parts, fused, may_fuse
from regard.ops.plain import is_plain

FEW_STEPS = 4  # steps up to which one after the other is quickest, as measured
_HALF = (torch.float16, torch.bfloat16)


def recurrence(parts: Parts) -> Ended:
    """Run the compiled pass where supported; else a parallel scan if the gates allow it; else step by step.

    Under `attention.plain` always step by step: for proofs, relevance propagation and double backward. Half precision
    is summed in single precision.
    """
    if parts.products.dtype in _HALF:
        ended = recurrence(_wide(parts))
        return ended._replace(outputs=ended.outputs.to(parts.products.dtype))
    if is_plain():
        return loop(parts)
    if not torch.compiler.is_compiling() and may_fuse(parts):
        return fused(parts)
    return loop(parts) if parts.peepholes is not None or parts.products.shape[1] <= FEW_STEPS else scan(parts)


def linear_recurrence(decays: Tensor, added: Tensor, start: Tensor) -> Tensor:
    """decays and added (batch, n, dim), start (batch, dim) → c (batch, n, dim), c_t = decay_t · c_(t-1) + added_t.

    c is of single precision at least.
    """
    if added.dtype in _HALF:
        return linear_recurrence(decays.float(), added.float(), start.float())
    one_by_one = is_plain() or added.shape[1] <= FEW_STEPS
    return linear_loop(decays, added, start) if one_by_one else linear_scan(decays, added, start)


def _wide(parts: Parts) -> Parts:
    peepholes = None if parts.peepholes is None else parts.peepholes.float()
    return parts._replace(
        products=parts.products.float(),
        inputs=parts.inputs.float(),
        peepholes=peepholes,
        biases=parts.biases.float(),
        start=parts.start.float(),
    )


def scan(parts: Parts) -> Ended:
    """The recurrence without peepholes, in log n rounds forward and backward."""
    new, forget, reset = parts.products[:, :, :3].unbind(dim=2)
    forget_bias, reset_bias = parts.biases
    f, r = torch.sigmoid(forget + forget_bias), torch.sigmoid(reset + reset_bias)
    keeps, adds = f, (1 - f) * new
    if parts.mask is not None:
        real = parts.mask.unsqueeze(-1)
        keeps, adds = keeps.masked_fill(~real, 1.0), adds.masked_fill(~real, 0.0)
    states = linear_scan(keeps, adds, parts.start)
    shown = torch.tanh(states) if parts.tanh else states
    outputs = r * shown + (1 - r) * (parts.scale * parts.skipped())
    if parts.mask is not None:
        outputs = outputs.masked_fill(~parts.mask.unsqueeze(-1), 0.0)
    return Ended(outputs, states[:, -1] if states.shape[1] else parts.start)


def linear_scan(decays: Tensor, added: Tensor, start: Tensor) -> Tensor:
    """decays and added (batch, n, dim), start (batch, dim) → c (batch, n, dim), c_t = decay_t · c_(t-1) + added_t."""
    if not added.shape[1]:
        return added
    first = torch.addcmul(added[:, :1], decays[:, :1], start.unsqueeze(1))
    whole = torch.cat([first, added[:, 1:]], dim=1)
    if torch.compiler.is_compiling():
        return _joined(decays, whole)  # a compiler finds the gradient itself
    return cast(Any, _Scan).apply(decays, whole)  # untyped in torch


class _Scan(torch.autograd.Function):
    """c_t = decay_t · c_(t-1) + added_t from c = 0. Its gradient is the same recurrence, run backwards."""

    @staticmethod
    def forward(ctx: Any, decays: Tensor, added: Tensor) -> Tensor:
        states = _joined(decays, added)
        ctx.save_for_backward(decays, states)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        decays, states = ctx.saved_tensors
        none = torch.zeros_like(decays[:, :1])
        later = torch.cat([decays[:, 1:], none], dim=1).flip(1)
        total = cast(Any, _Scan).apply(later, gradients[0].flip(1)).flip(1)
        return total * torch.cat([none, states[:, :-1]], dim=1), total


def _joined(decays: Tensor, added: Tensor) -> Tensor:
    """Pairs of steps are joined, those are solved, and the steps between follow from them: 2 n products in all."""
    length = added.shape[1]
    if length == 1:
        return added
    even = length // 2 * 2
    first, second = decays[:, :even:2], decays[:, 1:even:2]
    solved = _joined(first * second, torch.addcmul(added[:, 1:even:2], second, added[:, :even:2]))
    states = torch.empty_like(added)
    states[:, 1::2] = solved
    states[:, 0] = added[:, 0]
    if length > 2:
        states[:, 2::2] = torch.addcmul(added[:, 2::2], decays[:, 2::2], solved[:, : (length - 1) // 2])
    return states


def loop(parts: Parts) -> Ended:
    """The equations as they stand, for any type of number and any device."""
    state, outputs = parts.start, []
    forget_bias, reset_bias = parts.biases
    skipped = parts.scale * parts.skipped()
    steps = zip(parts.products.unbind(dim=1), skipped.unbind(dim=1), strict=True)  # one gradient for all slices
    for place, (products, skip) in enumerate(steps):
        new, forget, reset = products[:, 0], products[:, 1], products[:, 2]
        if parts.peepholes is not None:
            forget, reset = forget + parts.peepholes[0] * state, reset + parts.peepholes[1] * state
        f, r = torch.sigmoid(forget + forget_bias), torch.sigmoid(reset + reset_bias)
        after = f * state + (1 - f) * new
        shown = torch.tanh(after) if parts.tanh else after
        output = r * shown + (1 - r) * skip
        if parts.mask is not None:
            real = parts.mask[:, place].unsqueeze(-1)
            after, output = torch.where(real, after, state), output.masked_fill(~real, 0.0)
        state = after
        outputs.append(output)
    return Ended(torch.stack(outputs, dim=1) if outputs else skipped, state)


def linear_loop(decays: Tensor, added: Tensor, start: Tensor) -> Tensor:
    """decays and added (batch, n, dim), start (batch, dim) → c (batch, n, dim), c_t = decay_t · c_(t-1) + added_t."""
    state, states = start, []
    for decay, more in zip(decays.unbind(dim=1), added.unbind(dim=1), strict=True):
        state = decay * state + more
        states.append(state)
    return torch.stack(states, dim=1) if states else added
