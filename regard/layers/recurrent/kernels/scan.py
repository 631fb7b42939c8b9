"""Gates that do not see the state make the recurrence linear, so steps may be joined before the first is known.

(f, u) then (f', u') is (f' f, f' u + u'), which is associative: log n rounds over all steps at once
(https://www.cs.cmu.edu/~guyb/papers/Ble93.pdf). Nothing is divided, so decays may be as small as they like.
"""

from typing import Any, cast

import torch
from torch import Tensor

from regard.layers.recurrent.kernels.parts import Ended, Parts


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
