"""Sliced recurrent networks (https://arxiv.org/abs/1807.02291): slices of a long text are read in parallel."""

from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import Count, Size
from regard.layers.pooling.pooling import Pooling
from regard.layers.recurrent import RECURRENT, Cell
from regard.ops.modules import module_list
from regard.registry import Choice


class SlicedPooling(Pooling):
    """SRNN(n, k): cut in n slices, k times; the lowest network reads each of n^k slices, each higher one n states.

    The vector is the last state of the highest: T / n^k + k · n steps in place of T. A text is cut by its own length;
    where that is not a multiple of n^k, its first slices are shorter, or empty and skipped. `depth` is k, and each of
    the k + 1 networks has its own weights.

    Cost: O(m·d²), of which m / slices^depth + slices·depth steps are one after the other
    """

    aliases = "sliced_rnn, sliced_recurrent_neural_network, srnn"

    def __init__(
        self,
        dim: int,
        *,
        cell: Cell = Choice("gru"),
        hidden_dim: Annotated[Size | None, Doc("Width of the state; null: the width of the input.")] = None,
        slices: Annotated[int, Ge(2), Doc("Number of slices at each level.")] = 8,
        depth: Annotated[Count, Doc("Number of slicing levels.")] = 2,
    ) -> None:
        super().__init__()
        self.slices, self.depth, self.out_dim = slices, depth, hidden_dim or dim
        widths = [dim, *[self.out_dim] * depth]
        self.layers = module_list(RECURRENT.build(cell, width, self.out_dim, place="cell") for width in widths)

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim), mask (batch, n) → (batch, out_dim)."""
        if not states.numel():
            return states.new_zeros(len(states), self.out_dim)
        pieces, shown = self._pieces(states, mask)
        for number, layer in enumerate(self.layers):
            if number:  # (batch · pieces, dim) → n neighbours side by side
                pieces = pieces.unflatten(0, (-1, self.slices))
                shown = None if shown is None else shown.any(dim=1).unflatten(0, (-1, self.slices))
                pieces, shown = _forward(pieces, shown)
            _, past = layer(pieces, shown)
            pieces = past[0]
        return pieces

    def _pieces(self, states: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """(batch, n, dim) → (batch · n^k, the longest piece, dim) and what is real of each, or None if all is."""
        batch, length, count = len(states), states.shape[1], self.slices**self.depth
        if mask is None and length % count == 0:
            return states.reshape(batch * count, length // count, -1), None
        lengths = states.new_full((batch, 1), length).long() if mask is None else mask.sum(dim=1, keepdim=True)
        each = (lengths + count - 1) // count  # (batch, 1): how long a piece of this text is
        piece = torch.arange(count, device=states.device)
        start = lengths - (count - piece) * each  # (batch, piece); before the first word where a piece is shorter
        first, end = start.clamp(min=0), (start + each).clamp(min=0)
        places = first.unsqueeze(-1) + torch.arange(int(each.max()) or 1, device=states.device)
        shown = places < end.unsqueeze(-1)
        index = places.clamp(max=length - 1).flatten(1)
        taken = states.take_along_dim(index.unsqueeze(-1), dim=1)
        return taken.view(batch * count, -1, states.shape[-1]), shown.flatten(0, 1)


def _forward(pieces: Tensor, shown: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Empty ones stand first; recurrent layers want them last. (rows, n, dim), (rows, n)."""
    if shown is None:
        return pieces, None
    order = (~shown).to(torch.uint8).argsort(dim=1, stable=True)
    return pieces.take_along_dim(order.unsqueeze(-1), dim=1), shown.take_along_dim(order, dim=1)
