"""The plain output layer: one product with a table of words, shared with an embedder or its own."""

import ctypes
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from regard.config import Doc
from regard.errors import PartError
from regard.heads.head import Head
from regard.ops import kernels
from regard.ops.functional import wide
from regard.ops.kernels.library import library
from regard.ops.kernels.packing import ParameterCache, may_compile
from regard.ops.kernels.vocabulary import MOST_WORDS, PackedTable, compiled_vocabulary
from regard.ops.linear import linear, summed
from regard.ops.plain import is_plain
from regard.records import PAD, Decoded, Encoded

OutputBias = Annotated[bool, Doc("Add a bias to the output scores, 0 at the start.")]


class LinearHead(Head):
    """p(word) = softmax(states Wᵀ + b), b with `bias` alone; it starts as zero."""

    def __init__(
        self, dim: int, vocab_size: int, weight: nn.Parameter | None = None, *, bias: OutputBias = False
    ) -> None:
        super().__init__()
        if weight is not None and weight.shape != (vocab_size, dim):
            problem = f"an embedding of dim {weight.shape[-1]} cannot be the output table of states of dim {dim}"
            raise PartError(problem, "use tied: none, or make the dims equal")
        self.weight = nn.Parameter(torch.empty(vocab_size, dim)) if weight is None else weight
        if weight is None:
            nn.init.normal_(self.weight, std=dim**-0.5)
        self.bias = nn.Parameter(torch.zeros(vocab_size)) if bias else None
        self._packed: ParameterCache[PackedTable] = ParameterCache()

    def log_probs(self, decoded: Decoded, encoded: Encoded | None) -> Tensor:
        logits = linear(decoded.states, self.weight, self.bias)
        if torch.is_grad_enabled() and logits.requires_grad:
            return logits.log_softmax(dim=-1)
        normalised: Tensor = torch.log_softmax(logits, dim=-1, out=logits)  # a second block of this size costs as much
        return normalised

    def best(
        self,
        decoded: Decoded,
        encoded: Encoded | None,
        count: int,
        forbidden: Sequence[int] = (),
        included: Sequence[int] = (),
    ) -> tuple[Tensor, Tensor]:
        """states (rows, 1, dim) → words and log-probabilities (rows, count), in compiled code where it may run."""
        few = count <= min(MOST_WORDS, len(self.weight) - len(forbidden)) and decoded.states.dtype == torch.float32
        packed = self.packed() if few else None
        if packed is None:
            return super().best(decoded, encoded, count, forbidden, included)
        return packed.best(decoded.states[:, -1], count, forbidden, included)

    def packed(self) -> PackedTable | None:
        given = [self.weight] if self.bias is None else [self.weight, self.bias]
        kernel = compiled_vocabulary() if may_compile(given) else None
        if kernel is None:
            return None
        return self._packed.get(given, lambda: PackedTable(kernel, self.weight, self.bias, self._packed.precision))

    def nll(self, decoded: Decoded, encoded: Encoded | None, targets: Tensor, *, smoothing: float = 0.0) -> Tensor:
        if self.training and not torch.compiler.is_compiling():
            self._packed.forget()  # the weights are about to change
        keep = targets != PAD
        states, wanted = decoded.states[keep], targets[keep]
        if is_plain():
            log_probs = functional.linear(states, self.weight, self.bias).log_softmax(dim=-1)
            gold = log_probs.gather(-1, wanted.unsqueeze(-1)).squeeze(-1)
            losses = -(1 - smoothing) * gold - smoothing * log_probs.mean(dim=-1)
        else:
            fused: Any = LinearCrossEntropy.apply  # untyped in torch
            bias = None if self.bias is None else self.bias.to(states.dtype)
            losses = fused(states, self.weight.to(states.dtype), bias, wanted, smoothing)
        return losses.new_zeros(targets.shape).masked_scatter(keep, losses)


# 20 MB of logits at 10,000 words; with fewer, adding up the table's gradient costs more, as measured
LOSS_ROWS = 512
CROSS_ENTROPY_SOURCE = Path(kernels.__file__).with_name("cross_entropy.cpp")

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64


class LinearCrossEntropy(torch.autograd.Function):
    """losses_i = (1 - e) · (z_i - l_iy) + e · (z_i - mean_v l_iv), l = states Wᵀ + b, z = log sum_v exp l_v.

    It never holds the logits of a batch: those of 4,000 tokens over 10,000 words are 160 MB that a plain loss creates
    several times per update. Here a chunk of rows is computed, its loss and its gradient are taken at once, and its
    memory is used again.
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
        for rows, part, some, gradient in _chunks(states, weight, bias, targets, smoothing):
            losses[rows] = some
            if for_states is not None and for_weight is not None:
                for_states[rows] = linear(gradient, weight.t())
                for_weight += summed(gradient, part)
                if for_bias is not None:
                    for_bias += gradient.sum(dim=0)
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
        return for_states, for_weight, for_bias, None, None


def _chunks(
    states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
) -> Iterator[tuple[slice, Tensor, Tensor, Tensor]]:
    """(rows, their states, their losses, the gradient of these by the logits) chunk by chunk."""
    for start in range(0, len(states), LOSS_ROWS):
        rows = slice(start, min(start + LOSS_ROWS, len(states)))
        logits = linear(states[rows], weight, bias)
        yield rows, states[rows], _losses(logits, targets[rows], smoothing), logits


def _losses(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """logits (n, vocab), which become their gradient in place → losses (n,)."""
    compiled = logits.device.type == "cpu" and logits.dtype == torch.float32
    code = library(CROSS_ENTROPY_SOURCE) if compiled else None
    return _by_torch(logits, targets, smoothing) if code is None else _by_code(code, logits, targets, smoothing)


def _by_code(code: ctypes.CDLL, logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    losses, targets, (rows, words) = logits.new_empty(len(logits)), targets.long().contiguous(), logits.shape
    if bool(((targets < 0) | (targets >= words)).any()):  # compiled code would write beyond its row
        raise IndexError(f"a target is not one of the {words} words")
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
