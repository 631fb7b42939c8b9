"""Attention in every layer of a convolutional decoder (https://arxiv.org/abs/1705.03122, section 3.3)."""

import math

from torch import Tensor, nn

from regard.attention import Attended, Attention, Memory
from regard.layers.convolutional.gated_block import HALF, projection
from regard.layers.shared_source import Reading, begin, read_source


class MultiStepAttention(nn.Module):
    """h_i + V sum_j a_ij (z_j + e_j), a_i = softmax_j(d_i · z_j), d_i = W h_i + b + g_i: the step of one layer.

    h are the layer's states, g the embeddings of the target words, z the source's states, e its embeddings. The
    attention of a layer depends on that of lower layers, since their contexts are in h.

    Sums of two are multiplied by sqrt(1/2) and contexts of m source words by sqrt(m), so that variances are kept
    (section 3.4), and the weights are normalised. Contexts are always projected, as in the authors' program: while all
    layers attend alike, their contexts are equal, and the variance of their sum would grow to three times theirs.
    """

    aliases = "multi_step_layer"

    def __init__(
        self,
        dim: int,
        attention: Attention,
        *,
        word_dim: int | None = None,
        context_dim: int | None = None,
    ) -> None:
        """`dim` is that of h; `word_dim` that of g, `context_dim` that of the contexts, if they differ from it."""
        super().__init__()
        self.attention, self.query_dim = attention, word_dim or dim
        self.from_state = projection(dim, self.query_dim)
        self.from_context = projection(context_dim or dim, dim)

    def begin(self, states: Tensor, embeddings: Tensor | None, mask: Tensor | None = None) -> Reading:
        """Return a reading with keys z and values z + e, of z and e (batch, source, dim) and mask (batch, source).

        Without embeddings the values are z.
        """
        values = states if embeddings is None else (states + embeddings) * HALF
        return begin(self.attention, self.query_dim, states, values, mask)

    def forward(self, states: Tensor, embeddings: Tensor, source: Reading, *, need_weights: bool = False) -> Attended:
        """h and g (batch, target, dim) → with h + c (batch, target, dim) as the context; weights are a head's mean.

        Where the source is folded, states must be one word long (target = 1).
        """
        queries = (self.from_state(states) + embeddings) * HALF
        looked = read_source(self.attention, queries, source, need_weights=need_weights)
        context = self.from_context(looked.context * _roots(source.memory, source.fold))
        return looked._replace(context=(states + context) * HALF)


def _roots(memory: Memory, fold: int) -> Tensor | float:
    """sqrt(m) for each row (rows, 1, 1): a mean of m independent values has an m-th of their variance."""
    if memory.mask is None:
        return math.sqrt(memory.keys.shape[-2])
    counts = memory.mask.sum(dim=-1).flatten(1)[:, :1] if memory.mask.dim() > 2 else memory.mask.sum(dim=-1)
    roots = counts.to(memory.values.dtype).sqrt().view(-1, 1, 1)
    return roots.repeat_interleave(fold, dim=0) if fold > 1 else roots
