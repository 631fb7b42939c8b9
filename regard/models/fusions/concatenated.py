"""The question as one vector, concatenated to each word of a passage."""

import torch
from torch import Tensor

from regard.attention import Sockets
from regard.models.fusions.fusion import Fusion
from regard.records import Sequences


class ConcatenatedFusion(Fusion):
    """[p_i; q], q the pooled vector of the question: the same for every word of the passage."""

    aliases = "question_vector"

    def __init__(self, word_dim: int, vector_dim: int, sockets: Sockets) -> None:
        super().__init__()
        self.dim = word_dim + vector_dim

    def forward(self, passage: Sequences, question: Sequences, vector: Tensor) -> Tensor:
        """Words (batch, n, word_dim) and the question (batch, vector_dim) → (batch, n, dim)."""
        beside = vector.unsqueeze(1).expand(-1, passage.items.shape[1], -1)
        return torch.cat([passage.items, beside], dim=-1)
