"""The output layer of BERT: a transform of the states before the table of words (https://arxiv.org/abs/1810.04805)."""

from collections.abc import Sequence
from typing import Annotated

from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.heads.head import Head
from regard.heads.linear import LinearHead
from regard.layers.normalisation.norm import Eps
from regard.ops.linear import Linear
from regard.records import PAD, Decoded, Encoded


class TransformedHead(Head):
    """p(word) = softmax(LN(gelu(W' state + b')) Eᵀ + b), E shared with an embedder where the model ties them."""

    aliases = "bert_head, mlm_head, transform_head"

    def __init__(
        self,
        dim: int,
        vocab_size: int,
        weight: nn.Parameter | None = None,
        *,
        eps: Annotated[Eps, Doc("Epsilon, for numerical stability.")] = 1e-12,
    ) -> None:
        super().__init__()
        self.dense, self.norm = Linear(dim, dim), nn.LayerNorm(dim, eps=eps)
        self.words = LinearHead(dim, vocab_size, weight, bias=True)
        nn.init.xavier_uniform_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)

    def log_probs(self, decoded: Decoded, encoded: Encoded | None) -> Tensor:
        return self.words.log_probs(self._transformed(decoded), encoded)

    def best(
        self,
        decoded: Decoded,
        encoded: Encoded | None,
        count: int,
        forbidden: Sequence[int] = (),
        included: Sequence[int] = (),
    ) -> tuple[Tensor, Tensor]:
        return self.words.best(self._transformed(decoded), encoded, count, forbidden, included)

    def nll(self, decoded: Decoded, encoded: Encoded | None, targets: Tensor, *, smoothing: float = 0.0) -> Tensor:
        """targets (rows, n) → losses (rows, n); only states that have a target are transformed."""
        keep = targets != PAD
        chosen = self._transformed(Decoded(decoded.states[keep].unsqueeze(0)))
        losses = self.words.nll(chosen, None, targets[keep].unsqueeze(0), smoothing=smoothing).squeeze(0)
        return losses.new_zeros(targets.shape).masked_scatter(keep, losses)

    def _transformed(self, decoded: Decoded) -> Decoded:
        return decoded._replace(states=self.norm(functional.gelu(self.dense(decoded.states))))
