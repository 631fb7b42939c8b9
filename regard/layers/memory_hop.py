"""One hop of an end-to-end memory network (https://arxiv.org/abs/1503.08895, section 2)."""

from torch import Tensor, nn

from regard.attention import Attention


class MemoryHop(nn.Module):
    """u' = H u + sum_i p_i c_i, p = softmax(u · m_i): keys (m) and values (c) have separate embeddings.

    `mapped` False leaves H out, as with tied embeddings of adjacent hops (section 2.2).
    """

    aliases = "memory_network, end_to_end_memory, end_to_end_memory_network, memn2n, memory, 记忆网络"

    def __init__(self, dim: int, attention: Attention, *, mapped: bool = True) -> None:
        super().__init__()
        self.attention = attention
        self.mapping = nn.Linear(dim, dim, bias=False) if mapped else nn.Identity()

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        """u (batch, dim), m and c (batch, slot, dim), mask (batch, slot) → u' (batch, dim)."""
        read = self.attention(query.unsqueeze(1), self.attention.remember(keys, values, mask)).context
        asked: Tensor = self.mapping(query)
        return asked + read.squeeze(1)
