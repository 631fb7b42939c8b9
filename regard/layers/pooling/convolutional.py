"""Convolutions of several widths, and the best match of each: the sentence model of arXiv:1408.5882."""

from typing import Annotated

import torch
from annotated_types import MinLen
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.config.bounds import Positive, Size
from regard.config.common_settings import DropoutProbability
from regard.layers.pooling.pooling import Pooling
from regard.layers.pooling.query import windows_mask
from regard.ops.dropout import Dropout
from regard.ops.functional import limit_norm
from regard.ops.modules import module_list

WindowSizes = Annotated[tuple[Size, ...], MinLen(1), Doc("Kernel sizes, in words.")]
Maps = Annotated[Size, Doc("Number of filters per kernel size.")]
MaxNorm = Annotated[Positive | None, Doc("Maximum L2 norm of a filter; null: unlimited.")]

LONG = 100  # windows of a text above which the best one is found first; measured with 128 dimensions and 100 maps


class ConvolutionalPooling(Pooling):
    """max_i max(0, W [x_i; …; x_(i+k-1)] + b) for each of `num_filters` rows of W and of `kernel_sizes` k; dropout.

    Only windows within a text count (https://arxiv.org/abs/1408.5882). A text shorter than the widest window is padded
    with zeros to that width, and windows of zeros alone do not count. Padding is on the right. W is sampled from
    N(0, 2/n), n the inputs of a window; rows longer than `max_norm` are rescaled to it when used. In the paper that
    holds for the layer above, with 3.

    Cost: O(m·k·d·maps)
    """

    aliases = "convolutional_pooling, kim, text_cnn"

    def __init__(
        self,
        dim: int,
        *,
        kernel_sizes: WindowSizes = (3, 4, 5),
        num_filters: Maps = 100,
        max_norm: MaxNorm = None,
        dropout: DropoutProbability = 0.5,
    ) -> None:
        super().__init__()
        self.widest, self.max_norm, self.dropout = max(kernel_sizes), max_norm, Dropout(dropout)
        self.out_dim = num_filters * len(kernel_sizes)
        self.filters = module_list(nn.Conv1d(dim, num_filters, width) for width in kernel_sizes)
        for filters in self.filters:
            nn.init.kaiming_normal_(filters.weight, nonlinearity="relu")
            nn.init.zeros_(filters.get_parameter("bias"))

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim), mask (batch, n) → (batch, maps · windows), window after window."""
        words, counted = self._laid(states, mask)
        best = [
            functional.relu(_best_match(words, counts, self._weight(filters), filters.get_parameter("bias")))
            for filters, counts in zip(self.filters, counted, strict=True)
        ]
        pooled: Tensor = self.dropout(torch.cat(best, dim=-1))
        return pooled

    def matches(self, states: Tensor, mask: Tensor | None = None) -> list[tuple[Tensor, Tensor]]:
        """states (batch, n, dim) → for each kernel size k max(0, W x + b), (batch, maps, places), and what counts.

        A place is that of a window's first word; the mask of counted ones is (batch, places).
        """
        words, counted = self._laid(states, mask)
        found = [_matches(words, self._weight(one), one.get_parameter("bias")) for one in self.filters]
        return [(functional.relu(one).transpose(1, 2), counts) for one, counts in zip(found, counted, strict=True)]

    def _laid(self, states: Tensor, mask: Tensor | None) -> tuple[Tensor, list[Tensor]]:
        """Return words padded to the widest window (batch, n, dim), and the counted places per kernel size."""
        shown = states.new_ones(states.shape[:2]).bool() if mask is None else mask
        room = max(0, self.widest - states.shape[1])
        words = functional.pad(states.masked_fill(~shown.unsqueeze(-1), 0.0), (0, 0, 0, room))
        shown = functional.pad(shown, (0, room))
        first = torch.arange(shown.shape[1], device=shown.device) < self.widest
        within = shown | (first & shown.any(dim=1, keepdim=True))  # the text, or the width of the widest window
        counted = [windows_mask(within, filters.weight.shape[-1]) for filters in self.filters]
        return words, [counts & shown[:, : counts.shape[1]] for counts in counted]

    def _weight(self, filters: nn.Conv1d) -> Tensor:
        return limit_norm(filters.weight, self.max_norm, training=self.training)


def _best_match(words: Tensor, counts: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """max_i W x_i + b over windows that count, 0 without one; words (batch, n, dim), counts (batch, windows), weight
    (maps, dim, k) → (batch, maps).

    Only the best window has a gradient. In a long text it is cheaper to find it first, and to compute it again alone.
    """
    if counts.shape[1] < LONG or not torch.is_grad_enabled():
        return _matches(words, weight, bias).masked_fill(~counts.unsqueeze(-1), 0.0).amax(dim=1)
    with torch.no_grad():
        places = _matches(words, weight).masked_fill_(~counts.unsqueeze(-1), -torch.inf).argmax(dim=1)
    starts = torch.arange(len(words), device=words.device).unsqueeze(1) * words.shape[1]
    within = torch.arange(weight.shape[-1], device=words.device)
    windows = functional.embedding((starts + places).unsqueeze(-1) + within, words.flatten(0, 1))
    best = (windows * weight.transpose(1, 2)).sum(dim=(-2, -1)) + bias  # (batch, maps)
    return best.masked_fill(~counts.any(dim=1, keepdim=True), 0.0)


def _matches(words: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return the matches (batch, windows, maps) of every window: a 2-D convolution reads words without a copy."""
    laid = weight.unsqueeze(2).contiguous(memory_format=torch.channels_last)
    return functional.conv2d(words.transpose(1, 2).unsqueeze(2), laid, bias).squeeze(2).transpose(1, 2)
