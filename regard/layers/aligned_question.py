"""Aligned question embedding: attention of passage words to the question (https://arxiv.org/abs/1704.00051)."""

import torch
from torch import Tensor, nn

from regard.attention import Attention


class AlignedQuestion(nn.Module):
    """[p_i; sum_j a_ij q_j], a_i = softmax_j(score(p_i, q_j)): soft matches as additional features of each word."""

    aliases = "aligned_question_embedding, question_aligned"

    def __init__(self, passage_dim: int, question_dim: int, attention: Attention) -> None:
        super().__init__()
        self.attention = attention
        self.dim = passage_dim + attention.context_dim(question_dim)

    def forward(self, passage: Tensor, question: Tensor, question_mask: Tensor | None = None) -> Tensor:
        """passage (batch, n, passage_dim), question (batch, m, question_dim), its mask (batch, m) → (batch, n, dim)."""
        aligned = self.attention(passage, self.attention.remember(question, mask=question_mask)).context
        return torch.cat([passage, aligned], dim=-1)
