"""Convolutions pooled by attention with the query of a recurrent network, in place of max pooling.

Er et al. 2016, https://doi.org/10.1016/j.ins.2016.08.084: attention pooling-based convolutional network.
"""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import SCORES
from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability
from regard.layers.pooling.convolutional import ConvolutionalPooling, Maps, MaxNorm, WindowSizes
from regard.layers.pooling.reading import ScoreChoice, query_socket, read_by
from regard.layers.recurrent import RECURRENT, Bidirectional, Cell
from regard.ops.modules import module_list
from regard.registry import Choice


class ConvolutionalQueryPooling(ConvolutionalPooling):
    """[sum_i a_i C_i for each of the `kernel_sizes`; q], a = softmax_i(score(q, C_i)), q = W [last state of both ways].

    C_i are the outputs of the `num_filters` convolutions for the window that begins at word i, as in `convolutional`; q
    is a vector of `num_filters` numbers from a recurrent network over the whole text. Max pooling is this with hard
    attention per map. Weights are (batch, 1, n), a window at its first word.

    Cost: O(m·d²) one after the other, O(m·k·d·maps)
    """

    aliases = "apcnn, attention_pooling_cnn, cnn_lstm_query"

    def __init__(
        self,
        dim: int,
        *,
        kernel_sizes: WindowSizes = (3, 4, 5),
        num_filters: Maps = 100,
        max_norm: MaxNorm = None,
        cell: Cell = Choice("lstm"),
        hidden_dim: Annotated[Size, Doc("Width of the recurrent state, per direction.")] = 64,
        score: Annotated[ScoreChoice, Doc("Score between the query and a window.")] = Choice("bilinear"),
        dropout: DropoutProbability = 0.5,
    ) -> None:
        super().__init__(dim, kernel_sizes=kernel_sizes, num_filters=num_filters, max_norm=max_norm, dropout=dropout)
        self.reader = Bidirectional(*(RECURRENT.build(cell, dim, hidden_dim, place="cell") for _ in range(2)))
        self.to_query = nn.Linear(self.reader.dim, num_filters, bias=False)
        self.attentions = module_list(
            query_socket(SCORES.build(score, num_filters, num_filters, place="score")) for _ in kernel_sizes
        )
        self.out_dim = num_filters * (len(kernel_sizes) + 1)

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim), mask (batch, n) → (batch, maps · (windows + 1)), the query last."""
        shown = states.new_ones(states.shape[:2]).bool() if mask is None else mask
        _, ends = self.reader(states, shown)
        asked = self.to_query(ends[0])
        pooled = []
        for attention, (found, counts) in zip(self.attentions, self.matches(states, shown), strict=True):
            more = max(0, states.shape[1] - found.shape[-1])  # as many places as words: weights have theirs
            keys = functional.pad(found, (0, more)).transpose(1, 2)
            pooled.append(read_by(attention, asked.unsqueeze(1), keys, keys, functional.pad(counts, (0, more))))
        vector: Tensor = self.dropout(torch.cat([*pooled, asked], dim=-1))
        return vector
