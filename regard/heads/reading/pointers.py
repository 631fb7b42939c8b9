"""Two pointers, to the first and to the last piece (https://arxiv.org/abs/1704.00051, section 3.2, prediction)."""

from typing import Annotated

from torch import Tensor

from regard.attention import SCORES
from regard.config import Doc
from regard.config.bounds import Size
from regard.heads.reading.span_head import Places, SpanHead, log_weights
from regard.layers.pooling.reading import ScoreChoice, query_socket
from regard.registry import Choice


class PointersHead(SpanHead):
    """p(i to j) = softmax_i(score(q, states_i)) · softmax_j(score'(q, states_j)), i ≤ j < i + max_pieces."""

    aliases = "drqa, start_and_end, boundary"

    def __init__(
        self,
        dim: int,
        vector_dim: int,
        *,
        score: Annotated[
            ScoreChoice, Doc("Score between question and states, for the start and the end of the answer.")
        ] = Choice("bilinear"),
        max_pieces: Annotated[Size, Doc("Maximum answer length, in pieces.")] = 15,
    ) -> None:
        super().__init__()
        self.max_pieces = max_pieces
        self.first, self.last = (query_socket(SCORES.build(score, vector_dim, dim, place="score")) for _ in range(2))

    def forward(self, states: Tensor, mask: Tensor, vector: Tensor) -> Places:
        """Two distributions that know nothing of each other."""
        return Places(*(log_weights(one, states, mask, vector) for one in (self.first, self.last)))
