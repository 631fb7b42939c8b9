"""Convolutions of several widths, and the best match of each: the sentence model of arXiv:1408.5882."""

from typing import Annotated

import torch
from annotated_types import MinLen
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.config.bounds import Positive, Size
from regard.config.common_settings import DropoutShare
from regard.layers.pooling.pooling import Pooling
from regard.layers.pooling.query import windows_mask
from regard.ops.dropout import Dropout
from regard.ops.functional import limit_norm
from regard.ops.modules import module_list


class ConvolutionalPooling(Pooling):
    """max_i max(0, W [x_i; …; x_(i+k-1)] + b) for each of `maps` rows of W and of the `windows` k, then dropout.

    Only windows within a text count (https://arxiv.org/abs/1408.5882). A text shorter than the widest is followed by
    zeros up to that width, and windows of nothing but zeros do not count. Padding stands on the right. W is drawn from
    N(0, 2/n), n the inputs of a window; no row of it is longer than `max_norm` when it is used: one that an update made
    longer is cut back to it. In the paper that holds of the layer above, with 3.

    Cost: O(m·k·d·maps)
    """

    aliases = "convolutional_pooling, kim, text_cnn"

    def __init__(
        self,
        dim: int,
        *,
        windows: Annotated[
            tuple[Size, ...], MinLen(1), Doc("Numbers of neighbouring words that the convolutions read.")
        ] = (3, 4, 5),
        maps: Annotated[Size, Doc("Convolutions of each window.")] = 100,
        max_norm: Annotated[Positive | None, Doc("Longest row of weights; null: any.")] = None,
        dropout: DropoutShare = 0.5,
    ) -> None:
        super().__init__()
        self.widest, self.max_norm, self.dropout = max(windows), max_norm, Dropout(dropout)
        self.out_dim = maps * len(windows)
        self.filters = module_list(nn.Conv1d(dim, maps, width) for width in windows)
        for filters in self.filters:
            nn.init.kaiming_normal_(filters.weight, nonlinearity="relu")
            nn.init.zeros_(filters.get_parameter("bias"))

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim), mask (batch, n) → (batch, maps · windows), window after window."""
        shown = states.new_ones(states.shape[:2]).bool() if mask is None else mask
        room = max(0, self.widest - states.shape[1])
        words = functional.pad(states.masked_fill(~shown.unsqueeze(-1), 0.0), (0, 0, 0, room)).transpose(1, 2)
        shown = functional.pad(shown, (0, room))
        first = torch.arange(shown.shape[1], device=shown.device) < self.widest
        within = shown | (first & shown.any(dim=1, keepdim=True))  # the text, or what is as wide as any window
        best = []
        for filters in self.filters:
            weight = limit_norm(filters.weight, self.max_norm, training=self.training)
            found = functional.relu(functional.conv1d(words, weight, filters.bias))  # (batch, maps, window)
            counts = windows_mask(within, weight.shape[-1]) & shown[:, : found.shape[-1]]
            best.append(found.masked_fill(~counts.unsqueeze(1), 0.0).amax(dim=-1))
        pooled: Tensor = self.dropout(torch.cat(best, dim=-1))
        return pooled
