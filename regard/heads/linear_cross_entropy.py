"""Linear layer, softmax and label-smoothed cross entropy in one, without ever holding the logits of a batch.

The logits of 4,000 tokens over 10,000 words are 160 MB that a plain loss creates several times per update. Here a
chunk of rows is computed, its loss and its gradient are taken at once, and its memory is used again.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.ops.functional import wide
from regard.ops.linear import linear, summed

CHUNK = 512  # rows: 20 MB of logits at 10,000 words, which stays in a processor's cache


class LinearCrossEntropy(torch.autograd.Function):
    """losses_i = (1 - e) · (z_i - l_iy) + e · (z_i - mean_v l_iv), l = states Wᵀ + b, z = log sum_v exp l_v."""

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
        mean_weight, mean_bias = weight.mean(dim=0), 0.0 if bias is None else bias.mean()
        for rows, part, log_sum, probabilities in _chunks(states, weight, bias):
            target = targets[rows].unsqueeze(-1)
            gold = (part * weight[target.squeeze(-1)]).sum(dim=-1)
            gold = gold if bias is None else gold + bias[target.squeeze(-1)]
            losses[rows] = log_sum - (1 - smoothing) * gold - smoothing * (part @ mean_weight + mean_bias)
            if for_states is not None and for_weight is not None:
                _minus_wanted(probabilities, target, smoothing)
                for_states[rows] = linear(probabilities, weight.t())
                for_weight += summed(probabilities, part)
                if for_bias is not None:
                    for_bias += probabilities.sum(dim=0)
        ctx.save_for_backward(states, weight, bias, targets, for_states, for_weight, for_bias)
        ctx.smoothing = smoothing
        return losses

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient was computed for equal weights of all rows, as training has; else W's and b's are done anew."""
        (upstream,) = gradients
        states, weight, bias, targets, for_states, for_weight, for_bias = ctx.saved_tensors
        for_states = for_states * upstream.unsqueeze(-1).to(for_states.dtype)
        if len(upstream) == 0 or bool((upstream == upstream[0]).all()):
            share = upstream[0] if len(upstream) else 0.0
            return for_states, for_weight * share, None if bias is None else for_bias * share, None, None
        for_weight = torch.zeros_like(weight)
        for_bias = None if bias is None else torch.zeros_like(bias)
        for rows, part, _, probabilities in _chunks(states, weight, bias):
            _minus_wanted(probabilities, targets[rows].unsqueeze(-1), ctx.smoothing)
            shares = upstream[rows].unsqueeze(-1).to(part.dtype)
            for_weight += summed(probabilities, part * shares)
            if for_bias is not None:
                for_bias += (probabilities * shares).sum(dim=0)
        return for_states, for_weight, for_bias, None, None


def _chunks(states: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """(rows, their states, log-sum-exp of their logits, their probabilities) chunk by chunk."""
    for start in range(0, len(states), CHUNK):
        rows = slice(start, min(start + CHUNK, len(states)))
        part = states[rows]
        logits = linear(part, weight, bias)
        top, place = logits.max(dim=-1, keepdim=True)
        sure = torch.softmax(logits, dim=-1, out=logits)  # in place: a second block of this size costs as much
        # log-sum-exp from the likeliest word: its probability is at least 1/vocab, so the logarithm is exact
        yield rows, part, (top - sure.gather(-1, place).log()).squeeze(-1), sure


def _minus_wanted(probabilities: Tensor, target: Tensor, smoothing: float) -> None:
    """probabilities - wanted distribution, in place: the gradient of the loss by the logits."""
    if smoothing:
        probabilities.sub_(smoothing / probabilities.shape[-1])
    probabilities.scatter_add_(-1, target, probabilities.new_full((1, 1), smoothing - 1.0).expand_as(target))
