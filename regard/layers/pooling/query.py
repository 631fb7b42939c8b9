"""Attention pooling with the query of another encoder (https://doi.org/10.1016/j.ins.2016.08.084)."""

from typing import Annotated, Literal

from torch import Tensor

from regard.attention import SCORES
from regard.config import Doc
from regard.layers.pooling.last import LastPooling
from regard.layers.pooling.mean import MeanPooling
from regard.layers.pooling.pooling import Pooling
from regard.layers.pooling.reading import ScoreChoice, query_socket, read_by
from regard.registry import Choice


class QueryPooling(Pooling):
    """sum_t a_t states_t, a = softmax_t(score(query, states_t)); the query is a vector of another encoder of the text.

    Without another encoder the query is the sequence's own last or mean state (`default`).

    Cost: O(m·d²)
    """

    aliases = "attention_pooling, query_pooling, pooling, 池化, 注意力池化"

    def __init__(
        self,
        dim: int,
        *,
        score: Annotated[ScoreChoice, Doc("Score between the query and the states.")] = Choice("bilinear"),
        default: Annotated[
            Literal["last", "mean"], Doc("Query if no other encoder provides one: the last state, or the mean.")
        ] = "mean",
    ) -> None:
        super().__init__()
        self.out_dim = dim
        self.own = LastPooling(dim) if default == "last" else MeanPooling(dim)
        self.attention = query_socket(SCORES.build(score, dim, dim, place="score"))

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim), query (batch, dim) → (batch, dim)."""
        asked = self.own(states, mask) if query is None else query
        return read_by(self.attention, asked.unsqueeze(1), states, states, mask)


def windows_mask(mask: Tensor, width: int) -> Tensor:
    """mask (batch, n) padded on the right → (batch, max(n, width) - width + 1): which windows of `width` words count.

    A convolution without padding sees length - width + 1 windows; a text shorter than a window is padded to one. For
    pooling by a query in place of the maximum of `ConvolutionalPooling`.
    """
    lengths = mask.sum(dim=1, keepdim=True)
    windows = (lengths - width + 1).clamp(min=1) * (lengths > 0)
    places = mask.new_ones(max(mask.shape[1], width) - width + 1).cumsum(dim=0)
    return places <= windows
