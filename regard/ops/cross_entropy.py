"""Cross entropies without torch's intermediate blocks: a row of logits is read once, and becomes its gradient."""

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.ops import kernels
from regard.ops.functional import wide
from regard.ops.linear import are_halved, linear, summed
from regard.ops.plain import is_plain
from regard.runtime.compiled import library

# 20 MB of logits at 10,000 words; with fewer, adding up the table's gradient costs more, as measured
LOSS_ROWS = 512
CROSS_ENTROPY_SOURCE = Path(kernels.__file__).with_name("cross_entropy.cpp")

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64


class LinearCrossEntropy(torch.autograd.Function):
    """losses_i = (1 - e) · (z_i - l_iy) + e · (z_i - mean_v l_iv), l = states Wᵀ + b, z = log sum_v exp l_v.

    It never holds the logits of a batch: those of 4,000 tokens over 10,000 words are 160 MB that a plain loss creates
    several times per update. Here a chunk of rows is computed, its loss and its gradient are taken at once, and its
    memory is used again. Inside `half_products` the gradients' products of a chunk are rounded to bfloat16, with their
    factors; logits and losses are not, nor is the gradient of the weight that unequal upstream gradients take again.
    """

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
    ) -> Tensor:
        """states (n, dim), weight (vocab, dim), bias (vocab) or none, targets (n,) → losses (n,), at least float32."""
        losses = states.new_empty(len(states), dtype=wide(states.dtype))  # to be summed
        need_gradient = any(ctx.needs_input_grad[:3])
        for_states = torch.empty_like(states) if need_gradient else None
        for_weight = torch.zeros_like(weight) if need_gradient else None
        for_bias = torch.zeros_like(bias) if need_gradient and bias is not None else None
        half = need_gradient and are_halved() and (states.dtype, states.device.type) == (torch.float32, "cpu")
        table = weight.bfloat16() if half else weight
        for rows, part, some, gradient in _chunks(states, weight, bias, targets, smoothing):
            losses[rows] = some
            if for_states is not None and for_weight is not None:
                if half:
                    slopes = gradient.bfloat16()
                    for_states[rows], change = slopes @ table, slopes.t() @ part.bfloat16()
                else:
                    for_states[rows], change = linear(gradient, weight.t()), summed(gradient, part)
                for_weight += change
                if for_bias is not None:
                    for_bias += gradient.sum(dim=0)
            del gradient  # the next chunk gets its memory, which is in the cache
        ctx.save_for_backward(states, weight, bias, targets, for_states, for_weight, for_bias)
        ctx.smoothing = smoothing
        return losses

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient was computed for equal weights of all rows, as training has; else W's and b's are recomputed."""
        (upstream,) = gradients
        states, weight, bias, targets, for_states, for_weight, for_bias = ctx.saved_tensors
        for_states = for_states * upstream.unsqueeze(-1).to(for_states.dtype)
        if len(upstream) == 0 or bool((upstream == upstream[0]).all()):
            share = upstream[0] if len(upstream) else 0.0
            return for_states, for_weight * share, None if bias is None else for_bias * share, None, None
        for_weight = torch.zeros_like(weight)
        for_bias = None if bias is None else torch.zeros_like(bias)
        for rows, part, _, gradient in _chunks(states, weight, bias, targets, ctx.smoothing):
            shares = upstream[rows].unsqueeze(-1).to(part.dtype)
            for_weight += summed(gradient, part * shares)
            if for_bias is not None:
                for_bias += (gradient * shares).sum(dim=0)
            del gradient
        return for_states, for_weight, for_bias, None, None


def _chunks(
    states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
) -> Iterator[tuple[slice, Tensor, Tensor, Tensor]]:
    """(rows, their states, their losses, the gradient of these by the logits) chunk by chunk."""
    for start in range(0, len(states), LOSS_ROWS):
        rows = slice(start, min(start + LOSS_ROWS, len(states)))
        logits = linear(states[rows], weight, bias)
        yield rows, states[rows], _losses(logits, targets[rows], smoothing), logits
        del logits


def _losses(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """logits (n, vocab), which become their gradient in place → losses (n,)."""
    compiled = logits.device.type == "cpu" and logits.dtype == torch.float32
    code = library(CROSS_ENTROPY_SOURCE) if compiled else None
    return _by_torch(logits, targets, smoothing) if code is None else _by_code(code, logits, targets, smoothing)


def _by_code(code: ctypes.CDLL, logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    losses, targets, (rows, words) = logits.new_empty(len(logits)), targets.long().contiguous(), logits.shape
    _check_targets(targets, words)
    places = [_POINTER(one.data_ptr()) for one in (logits, targets, losses)]
    settings = ctypes.c_double(smoothing), _LONG(torch.get_num_threads())
    code.cross_entropy(_LONG(rows), _LONG(words), *places[:2], *settings, places[2])
    return losses


def _by_torch(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    exact, target = wide(logits.dtype), targets.unsqueeze(-1)
    gold, mean = logits.gather(-1, target).squeeze(-1), logits.mean(dim=-1, dtype=exact)
    top, place = logits.max(dim=-1, keepdim=True)
    sure = torch.softmax(logits, dim=-1, out=logits)  # in place: a second block of this size costs as much
    # log-sum-exp from the likeliest word: its probability is at least 1/vocab, so the logarithm is exact
    log_sum = (top.to(exact) - sure.gather(-1, place).to(exact).log()).squeeze(-1)
    if smoothing:
        sure.sub_(smoothing / sure.shape[-1])
    sure.scatter_add_(-1, target, sure.new_full((1, 1), smoothing - 1.0).expand_as(target))
    return log_sum - (1 - smoothing) * gold.to(exact) - smoothing * mean


def paired_cross_entropy(
    scores: Tensor, targets: Tensor, smoothing: float, weight: float
) -> tuple[Tensor, Tensor, Tensor]:
    """½ (L_1 + L_2) + w · ½ (KL(p_1 ‖ p_2) + KL(p_2 ‖ p_1)) of two rows of scores with one target.

    p = softmax(scores), L the label-smoothed loss as in `LinearCrossEntropy`. scores (2 n, vocab), row i beside row
    i + n; targets (n,) → totals, ½ (L_1 + L_2) and divergences, each (n,). Totals alone have a gradient.
    """
    fast = scores.device.type == "cpu" and scores.dtype == torch.float32 and not is_plain()
    code = library(CROSS_ENTROPY_SOURCE) if fast else None
    if code is not None:
        apply: Any = PairedCrossEntropy.apply  # untyped in torch
        found: tuple[Tensor, Tensor, Tensor] = apply(code, scores, targets, smoothing, weight)
        return found
    one, other = scores.log_softmax(dim=-1).chunk(2)
    both = one + other
    gold = both.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    losses = -((1 - smoothing) * gold + smoothing * both.mean(dim=-1)) / 2
    divergences = ((one.exp() - other.exp()) * (one - other)).sum(dim=-1) / 2
    return losses + weight * divergences, losses.detach(), divergences.detach()


class PairedCrossEntropy(torch.autograd.Function):
    """`paired_cross_entropy` in compiled code; torch writes and reads eight blocks of the size of the scores."""

    @staticmethod
    def forward(
        ctx: Any, code: ctypes.CDLL, scores: Tensor, targets: Tensor, smoothing: float, weight: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Take the gradient with the losses."""
        (rows, words), targets, scores = scores.shape, targets.long().contiguous(), scores.contiguous()
        _check_targets(targets, words)
        gradient, (losses, divergences) = torch.empty_like(scores), scores.new_empty(2, len(targets))
        given = [_POINTER(one.data_ptr()) for one in (scores, targets)]
        settings = ctypes.c_double(smoothing), ctypes.c_double(weight), _LONG(torch.get_num_threads())
        made = [_POINTER(one.data_ptr()) for one in (gradient, losses, divergences)]
        code.paired_cross_entropy(_LONG(rows // 2), _LONG(words), *given, *settings, *made)
        ctx.save_for_backward(gradient)
        ctx.mark_non_differentiable(losses, divergences)
        return losses + weight * divergences, losses, divergences

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Each row's gradient times that of its total."""
        (gradient,), upstream = ctx.saved_tensors, gradients[0]
        if not bool((upstream == 1).all()):
            gradient = gradient * upstream.repeat(2).unsqueeze(-1)
        return None, gradient, None, None, None


def _check_targets(targets: Tensor, words: int) -> None:
    if bool(((targets < 0) | (targets >= words)).any()):  # compiled code would write beyond its row
        raise IndexError(f"a target is not one of the {words} words")
