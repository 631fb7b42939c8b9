"""The head of the attention-sum reader (https://arxiv.org/abs/1603.01547, section 3)."""

from typing import Annotated

import torch
from torch import Tensor

from regard.attention import SCORES
from regard.config import Doc
from regard.heads.reading.span_head import Places, SpanHead, log_weights
from regard.layers.pooling.reading import ScoreChoice, query_socket
from regard.registry import Choice


class AttentionSumHead(SpanHead):
    """p(answer) = sum of a_i over the places i where it stands, a = softmax_i(score(q, states_i)); one piece long."""

    aliases = "as_reader, attention_sum_reader, kadlec"
    max_pieces = 1

    def __init__(
        self,
        dim: int,
        vector_dim: int,
        *,
        score: Annotated[ScoreChoice, Doc("Score between question and states; the paper's: dot.")] = Choice("bilinear"),
    ) -> None:
        super().__init__()
        self.attention = query_socket(SCORES.build(score, vector_dim, dim, place="score"))

    def forward(self, states: Tensor, mask: Tensor, vector: Tensor) -> Places:
        first = log_weights(self.attention, states, mask, vector)
        return Places(first, torch.zeros_like(first))
