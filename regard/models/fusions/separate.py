"""A passage that is read without the question (https://arxiv.org/abs/1603.01547, section 3)."""

from torch import Tensor

from regard.attention import Sockets
from regard.models.fusions.fusion import Fusion
from regard.records import Sequences


class SeparateFusion(Fusion):
    """p_i: only the head combines passage and question, as in the attention-sum reader."""

    def __init__(self, word_dim: int, vector_dim: int, sockets: Sockets) -> None:
        super().__init__()
        self.dim = word_dim

    def forward(self, passage: Sequences, question: Sequences, vector: Tensor) -> Tensor:
        """Return the words of the passage unchanged (batch, n, word_dim)."""
        return passage.items
