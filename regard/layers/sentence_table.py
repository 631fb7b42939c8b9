"""A vector for each sentence of a story, and its time (https://arxiv.org/abs/1503.08895, section 4.1)."""

import torch
from torch import Tensor, nn

from regard.records import PAD

STD = 0.1  # of all weights at the start


class SentenceTable(nn.Module):
    """m_i = sum_j l_j · A x_ij + T(t_i): word j of sentence i, t_i sentences before the latest one; padding has none.

    With `position_encoding` l_kj = (1 - j/J) - (k/d)(1 - 2j/J) for feature k of d and word j of J, both from 1, so that
    the order of the words matters; without it l = 1, a bag of words. Times beyond `num_times` share the last row; with
    None there are none.
    """

    aliases = "position_encoding, temporal_encoding"

    def __init__(
        self, vocab_size: int, dim: int, num_times: int | None = None, *, position_encoding: bool = True
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(vocab_size, dim, padding_idx=PAD)
        self.times = None if num_times is None else nn.Embedding(num_times, dim)
        self.position_encoding = position_encoding
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=STD)
        with torch.no_grad():
            self.words.weight[PAD] = 0.0

    def forward(self, ids: Tensor, mask: Tensor, times: Tensor | None = None) -> Tensor:
        """ids and mask (..., word), times (...) from 0 → (..., dim); without times the sum alone."""
        vectors = self.words(ids.masked_fill(~mask, PAD))
        if self.position_encoding:
            vectors = vectors * position_weights(mask, vectors.shape[-1]).to(vectors.dtype)
        total: Tensor = vectors.sum(dim=-2)
        if times is None or self.times is None:
            return total
        return total + self.times(times.clamp(max=self.times.num_embeddings - 1))


def position_weights(mask: Tensor, dim: int) -> Tensor:
    """mask (..., word) → l (..., word, dim); 0 where a mask is all hidden."""
    words = mask.cumsum(dim=-1) / mask.sum(dim=-1, keepdim=True).clamp(min=1)  # j / J
    features = torch.arange(1, dim + 1, device=mask.device) / dim  # k / d
    return (1 - words).unsqueeze(-1) - features * (1 - 2 * words).unsqueeze(-1)
