"""Two convolutional networks with shared weights and attention between them (https://arxiv.org/abs/1512.05193)."""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.aliases import alias
from regard.config import Doc
from regard.config.bounds import Layers, Size
from regard.config.common_settings import DropoutProbability
from regard.errors import PartError
from regard.layers.convolutional.convolution import Kernel
from regard.layers.mutual_attention import MutualAttention
from regard.layers.pooling.mean import MeanPooling
from regard.models.build import build_attention
from regard.models.comparisons.comparison import Comparison, stacked, unstacked
from regard.models.settings import AttentionChoice, AttentionSettings
from regard.ops.dropout import Dropout
from regard.ops.linear import Linear
from regard.ops.modules import module_list
from regard.records import Sequences

_PLACE = "model.comparison"
_MATCH = {"score": "inverse_distance", "weighting": "unnormalised"}  # A_ij = 1 / (1 + |x_i - y_j|), as a config says it


class BcnnComparison(Comparison):
    """[cos(u_0, v_0); …; cos(u_L, v_L); u_L; v_L], u_l and v_l the means of both texts after layer l, 0 the words.

    A layer is a wide convolution, tanh(W [x_(i-w+1); …; x_i] + b) for i = 1 … n + w - 1, and w-ap, a mean over each
    window of w columns, which leaves n columns. The mean over all of them is all-ap. Three variants add attention:

    - ABCNN-1, `input_attention`: the input of the convolution is [x_i; sum_j A_ij w_j], A the attention to the words of
      the other text and w_j a learned vector of position j, the same for both texts;
    - ABCNN-2, `pooling_attention`: A is between the columns of both convolutions, and w-ap is the sum of w columns,
      each multiplied by a_i = sum_j A_ij;
    - ABCNN-3: both.

    In the paper A is {score: inverse_distance, weighting: unnormalised}; a column of padding has A = 0. The paper adds
    features of its own; `differences` replace them: |u_L - v_L| and u_L · v_L are appended. In attention maps a column
    is at the last word of its window.
    """

    aliases = (
        "bi_cnn, basic_bi_cnn",
        alias("abcnn_1, attention_based_bcnn_1", {"input_attention": _MATCH}),
        alias("abcnn_2, attention_based_bcnn_2", {"pooling_attention": _MATCH}),
        alias(
            "abcnn_3, abcnn, attention_based_bcnn, attention_based_cnn",
            {"input_attention": _MATCH, "pooling_attention": _MATCH},
        ),
    )

    def __init__(
        self,
        dim: int,
        *,
        hidden_dim: Annotated[Size, Doc("Number of filters per layer.")] = 50,
        num_layers: Annotated[Layers, Doc("Number of stacked convolution layers.")] = 1,
        kernel: Kernel = 3,
        input_attention: Annotated[
            AttentionChoice | None, Doc("Attention before a convolution (ABCNN-1); null: none.")
        ] = None,
        pooling_attention: Annotated[
            AttentionChoice | None, Doc("Attention before pooling (ABCNN-2); null: none.")
        ] = None,
        max_length: Annotated[Size, Doc("Maximum position with an `input_attention` vector.")] = 128,
        scaled: Annotated[
            bool, Doc("Normalise both means to a mean square of 1: sums of `pooling_attention` grow with text length.")
        ] = False,
        differences: Annotated[bool, Doc("Also compare difference and product of the means.")] = False,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.scaled, self.differences, self.beyond = scaled, differences, kernel - 1
        widths = [dim, *[hidden_dim] * num_layers]
        self.layers = module_list(
            _Layer(
                width,
                hidden_dim,
                kernel,
                None if input_attention is None else _Reading(input_attention, width, max_length),
                None if pooling_attention is None else _columns(pooling_attention, hidden_dim),
                dropout,
            )
            for width in widths[:-1]
        )
        self.mean = MeanPooling(dim)
        self.out_dim = len(widths) + widths[-1] * (4 if differences else 2)

    def forward(self, first: Sequences, second: Sequences) -> Tensor:
        """States (batch, n, dim) and (batch, m, dim) → (batch, 1 + num_layers + 2 or 4 · hidden_dim)."""
        both, similarities = stacked(first, second), []
        both = both._replace(items=both.items.masked_fill(~both.mask.unsqueeze(-1), 0.0))
        u, v = self.mean(*both).chunk(2)
        for layer in self.layers:
            similarities.append(functional.cosine_similarity(u, v, dim=-1))
            both = layer(both)
            u, v = self.mean(*both).chunk(2)
        similarities.append(functional.cosine_similarity(u, v, dim=-1))
        if self.scaled:
            u, v = (functional.normalize(mean, dim=-1) * mean.shape[-1] ** 0.5 for mean in (u, v))
        more = [(u - v).abs(), u * v] if self.differences else []
        return torch.cat([torch.stack(similarities, dim=-1), u, v, *more], dim=-1)


class _Layer(nn.Module):
    """A wide convolution and its w-ap, for both texts at once."""

    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        kernel: int,
        reading: "_Reading | None",
        pooling: MutualAttention | None,
        dropout: float,
    ) -> None:
        super().__init__()
        self.kernel, self.reading, self.pooling = kernel, reading, pooling
        self.linear = Linear(kernel * dim * (1 if reading is None else 2), hidden_dim)
        self.dropout = Dropout(dropout)  # after the attention: equal words with other numbers dropped would not match

    def forward(self, both: Sequences) -> Sequences:
        """Columns (2 · batch, n, dim), zero under padding → (2 · batch, n, hidden_dim), zero under padding."""
        inputs, mask = both.items, both.mask
        if self.reading is not None:
            inputs = torch.cat([inputs, self.reading(both)], dim=-1)
        room = self.kernel - 1
        windows = functional.pad(self.dropout(inputs), (0, 0, room, room)).unfold(
            1, self.kernel, 1
        )  # (…, n + w - 1, dim, w)
        columns = torch.tanh(self.linear(windows.transpose(-2, -1).flatten(-2)))
        filled = functional.pad(mask, (room, 0), value=True)  # a text of n words has n + w - 1 columns
        columns = columns.masked_fill(~filled.unsqueeze(-1), 0.0)
        if self.pooling is not None:
            ones = columns.new_ones(len(filled) // 2, filled.shape[1], 1)  # a_i = sum_j A_ij
            columns = columns * self.kernel * _found(self.pooling, Sequences(columns, filled), ones)
        pooled = functional.avg_pool1d(columns.transpose(1, 2), self.kernel, stride=1).transpose(1, 2)
        return Sequences(pooled.masked_fill(~mask.unsqueeze(-1), 0.0), mask)


class _Reading(nn.Module):
    """Attention of a text's words to the other text: sum_j A_ij w_j."""

    def __init__(self, settings: AttentionSettings, dim: int, max_length: int) -> None:
        super().__init__()
        self.mutual = _mutual(settings, dim, "input_attention")
        self.places = nn.Parameter(torch.empty(max_length, dim))
        nn.init.xavier_uniform_(self.places)

    def forward(self, both: Sequences) -> Tensor:
        """(2 · batch, n, dim) → the same shape, zero under padding."""
        length = both.mask.shape[1]
        places = functional.pad(self.places[:length], (0, 0, 0, max(0, length - len(self.places))))
        places = places.expand(len(both.mask) // 2, -1, -1)
        return _found(self.mutual, both, places).masked_fill(~both.mask.unsqueeze(-1), 0.0)


def _mutual(settings: AttentionSettings, dim: int, setting: str) -> MutualAttention:
    forth, back = (build_attention(settings, dim, dim, place=f"{_PLACE}.{setting}") for _ in range(2))
    return MutualAttention(nn.Identity(), forth, back)


def _columns(settings: AttentionSettings, dim: int) -> MutualAttention:
    mutual = _mutual(settings, dim, "pooling_attention")
    if mutual.forth.heads is not None:  # they would project the sum
        raise PartError("has heads, and a column has one weight", "num_heads: 1", setting="pooling_attention")
    return mutual


def _found(mutual: MutualAttention, both: Sequences, values: Tensor) -> Tensor:
    """Return the contexts (2 · batch, n, dim) of each text, given values (batch, n, dim) at the other's places."""
    first, second = unstacked(both)
    return torch.cat(mutual(first.items, second.items, first.mask, second.mask, (values, values)))
