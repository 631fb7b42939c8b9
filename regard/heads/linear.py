"""The plain output layer: one product with a table of words, shared with an embedder or its own."""

from collections.abc import Sequence
from typing import Annotated, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.errors import PartError
from regard.heads.head import Head
from regard.ops.cross_entropy import LinearCrossEntropy
from regard.ops.kernels.packing import ParameterCache, may_compile
from regard.ops.kernels.vocabulary import MOST_WORDS, PackedTable, compiled_vocabulary
from regard.ops.linear import linear
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

    def scores(self, decoded: Decoded, encoded: Encoded | None, mask: Tensor) -> Tensor:
        return linear(decoded.states[mask], self.weight, self.bias)

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
