"""Attention in every layer of a convolutional decoder (https://arxiv.org/abs/1705.03122, section 3.3)."""

from typing import Any

from torch import Tensor, nn

from regard.attention import Attended, Attention, Memory


class MultiStepAttention(nn.Module):
    """h_i + sum_j a_ij (z_j + e_j), a_i = softmax_j(d_i · z_j), d_i = W h_i + b + g_i: the step of one layer.

    h are the layer's states, g the embeddings of the words written, z the source's states, e its embeddings. Attention
    of a layer knows where the layers below it looked, for their contexts are in h.
    """

    def __init__(self, dim: int, attention: Attention) -> None:
        super().__init__()
        self.from_state = nn.Linear(dim, dim)
        self.attention = attention

    def remember(self, states: Tensor, embeddings: Tensor, mask: Tensor | None = None) -> Memory:
        """z and e (batch, source, dim), mask (batch, source) → what is compared with z and read as z + e."""
        return self.attention.remember(states, states + embeddings, mask)

    def forward(
        self,
        states: Tensor,
        embeddings: Tensor,
        memory: Memory,
        past: tuple[Any, ...] | None = None,
        *,
        need_weights: bool = False,
    ) -> Attended:
        """h and g (batch, target, dim) → with h + c (batch, target, dim) as the context."""
        queries = self.from_state(states) + embeddings
        attended: Attended = self.attention(queries, memory, past, need_weights=need_weights)
        return attended._replace(context=states + attended.context)
