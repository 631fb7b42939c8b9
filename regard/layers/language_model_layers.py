"""The layers of two language models, one left to right and one right to left."""

import torch
from torch import Tensor, nn

from regard.attention import turn_around
from regard.layers.recurrent import RECURRENT
from regard.layers.recurrent.directions import reverse
from regard.layers.recurrent.recurrent import Past
from regard.ops.dropout import Dropout
from regard.ops.modules import module_list
from regard.records import Sequences
from regard.registry import Choice


class _OneWay(nn.Module):
    """Recurrent layers of equal width, with residual connections from the second layer on.

    Dropout is between layers.
    """

    def __init__(self, dim: int, cell: Choice, num_layers: int, dropout: float) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.randn(dim) * dim**-0.5)  # read before the first vector
        self.layers = module_list(RECURRENT.build(cell, dim, dim, place="cell") for _ in range(num_layers))
        self.dropout = Dropout(dropout)

    def forward(
        self, vectors: Tensor, mask: Tensor | None, pasts: tuple[Past, ...] | None = None
    ) -> tuple[list[Tensor], tuple[Past, ...]]:
        """vectors (batch, n, dim) → the states (batch, n, dim) of each layer, lowest first, and the past of each."""
        found, after = list[Tensor](), list[Past]()
        for number, layer in enumerate(self.layers):
            read = self.dropout(found[-1]) if number else vectors
            written, past = layer(read, mask, None if pasts is None else pasts[number])
            found.append(written + found[-1] if number else written)
            after.append(past)
        return found, tuple(after)

    def begin(self, vectors: Tensor, mask: Tensor) -> tuple[list[Tensor], tuple[Past, ...]]:
        """vectors (batch, n, dim) → states (batch, 1 + n, dim): the one at place i has read the first i vectors."""
        start = self.start.expand(len(vectors), 1, -1)
        read = torch.cat([torch.ones_like(mask[:, :1]), mask], dim=1) if mask.shape[1] else mask.new_ones(len(mask), 1)
        return self(torch.cat([start, vectors], dim=1), read)


class LanguageModelLayers(nn.Module):
    """Both directions, with separate layers: states from the left depend on earlier words, from the right on later."""

    def __init__(self, dim: int, cell: Choice, num_layers: int, dropout: float) -> None:
        super().__init__()
        self.forwards = _OneWay(dim, cell, num_layers, dropout)
        self.backwards = _OneWay(dim, cell, num_layers, dropout)
        turn_around(self.backwards)

    def before(self, text: Sequences) -> tuple[Tensor, Tensor]:
        """Return the highest states (batch, n, dim) of all words before each place, and of all words after it."""
        (*_, ahead), _ = self.forwards.begin(*text)
        (*_, back), _ = self.backwards.begin(reverse(*text), text.mask)
        return ahead[:, :-1], reverse(back[:, :-1], text.mask)

    def read(self, text: Sequences) -> list[Tensor]:
        """Return the states (batch, n, 2 · dim) of each layer, own place included, of vectors (batch, n, dim).

        The lowest are the vectors themselves, twice.
        """
        ahead, _ = self.forwards.begin(*text)
        back, _ = self.backwards.begin(reverse(*text), text.mask)
        ways = zip(ahead, back, strict=True)
        states = [torch.cat([one[:, 1:], reverse(other[:, 1:], text.mask)], dim=-1) for one, other in ways]
        return [torch.cat([text.items, text.items], dim=-1), *states]
