"""Aligned question embedding: attention to the question (https://arxiv.org/abs/1704.00051, section 3.2)."""

from torch import Tensor

from regard.attention import Sockets
from regard.layers.aligned_question import AlignedQuestion
from regard.models.fusions.fusion import Fusion
from regard.records import Sequences


class AlignedFusion(Fusion):
    """[p_i; sum_j a_ij q_j], a_i = softmax_j(score(p_i, q_j)) over the words of the question: model.attention.

    The paper's score is `relu_dot`.
    """

    aliases = "aligned_question, aligned_question_embedding"

    def __init__(self, word_dim: int, vector_dim: int, sockets: Sockets) -> None:
        super().__init__()
        self.layer = AlignedQuestion(word_dim, word_dim, sockets.cross(word_dim, word_dim))
        self.dim = self.layer.dim

    def forward(self, passage: Sequences, question: Sequences, vector: Tensor) -> Tensor:
        """Words (batch, n, word_dim) and (batch, m, word_dim) → (batch, n, dim)."""
        joined: Tensor = self.layer(passage.items, question.items, question.mask)
        return joined
