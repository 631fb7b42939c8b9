"""CipherGAN: two generators, each of which maps texts of one bank to the other (arXiv:1801.04883)."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.aliases import known_as
from regard.config import Doc
from regard.config.bounds import Count, Size
from regard.data.columns import Columns
from regard.layers.positions.sinusoidal import sinusoids
from regard.models.decipherer import CIPHER, PLAIN, Decipherer, symbol_columns
from regard.ops.modules import module_dict, module_list
from regard.records import Sequences

OTHER_SIDE = {CIPHER: PLAIN, PLAIN: CIPHER}


class SymbolRows(NamedTuple):
    """The distinct symbols of some texts; with positions, a symbol has a row for each place."""

    ids: Tensor  # (row,)
    timing: Tensor  # (row, timing)
    where: Tensor  # (batch, n): the row of each symbol


class SymbolGenerator(nn.Module):
    """Convolutions of width 1 (filters · 1, 2, 4), residual blocks, a softmax: (row, dim) → (row, n)."""

    def __init__(self, dim: int, filters: int, num_blocks: int, num_values: int) -> None:
        super().__init__()
        sizes = [dim, filters, 2 * filters, 4 * filters]
        self.widening = nn.Sequential(*map(_normalised, sizes, sizes[1:]))
        last = sizes[-1]
        self.blocks = module_list(
            nn.Sequential(_normalised(last, last), nn.Linear(last, last), nn.LayerNorm(last)) for _ in range(num_blocks)
        )
        self.output = nn.Linear(last, num_values)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return the probabilities of symbols, numbered from 0."""
        hidden = self.widening(vectors)
        for block in self.blocks:
            hidden = functional.relu(hidden + block(hidden))
        return self.output(hidden).softmax(dim=-1)


class CipherGan(Decipherer):
    """softmax F(E x) of a plaintext x, and softmax G(E y) of a ciphertext y; each reads one symbol at a time.

    A generator reads each distinct symbol and place once, since its output is the same. Padding has the vector 0 and
    stays padding.
    """

    def __init__(self, sizes: Mapping[str, int], dim: int, filters: int, num_blocks: int, timing: int) -> None:
        """`sizes` are the numbers of symbols of each side; `timing` is the width of the positional encoding, or 0."""
        super().__init__()
        self.sizes, self.timing = dict(sizes), timing
        self.embeddings = nn.ParameterDict({side: torch.randn(size, dim) for side, size in sizes.items()})
        self.generators = module_dict(
            {side: SymbolGenerator(dim + timing, filters, num_blocks, sizes[OTHER_SIDE[side]]) for side in sizes}
        )

    def rows(self, texts: Sequences) -> SymbolRows:
        """Return the distinct symbols of texts."""
        ids, places = texts.items, torch.arange(texts.items.shape[1], device=texts.items.device)
        numbers = ids * len(places) + places if self.timing else ids
        found, where = numbers.unique(return_inverse=True)
        if not self.timing:
            return SymbolRows(found, self.timed(found.new_zeros(len(found))), where)
        return SymbolRows(found // len(places), self.timed(found % len(places)), where)

    def timed(self, places: Tensor) -> Tensor:
        """places (n,) → their sinusoids: (n, timing)."""
        return sinusoids(places, self.timing).to(self.device) if self.timing else places.new_zeros(len(places), 0)

    def table(self, side: str) -> Tensor:
        """Return the embedding matrix (1 + symbols, dim); the vector of padding is a constant 0."""
        return functional.pad(self.embeddings[side], (0, 0, 1, 0))

    def generated(self, side: str, vectors: Tensor, rows: SymbolRows) -> Tensor:
        """Return probabilities (row, symbol of the other side) of vectors (row, dim) of one side."""
        found: Tensor = self.generators[side](torch.cat([vectors, rows.timing.to(vectors)], dim=-1))
        return found

    def plain_probs(self, cipher: Sequences) -> Tensor:
        rows = self.rows(cipher)
        return self.generated(CIPHER, self.table(CIPHER)[rows.ids], rows)[rows.where]


@known_as("cycle_gan_of_ciphers")
def cipher_gan(
    columns: Columns,
    *,
    dim: Annotated[Size, Doc("Width of the symbol embeddings.")] = 100,
    filters: Annotated[
        Size, Doc("Filters of the generator's first layer; the next two have 2 and 4 times as many.")
    ] = 32,
    num_blocks: Annotated[Count, Doc("Residual blocks of the generator, two layers each.")] = 5,
    timing: Annotated[Count, Doc("Width of the concatenated sinusoidal positions, for Vigenère ciphers; 0: none.")] = 0,
) -> CipherGan:
    """Generators from ciphertext to plaintext and back, learnt from two unpaired banks of texts."""
    cipher, plain = symbol_columns(columns)
    sizes = {CIPHER: cipher.num_values, PLAIN: plain.num_values}
    return CipherGan(sizes, dim, filters, num_blocks, timing)


def _normalised(given: int, made: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(given, made), nn.LayerNorm(made), nn.ReLU())
