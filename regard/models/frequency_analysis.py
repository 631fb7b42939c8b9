"""Frequency analysis: cipher and plain symbols of equal frequency rank correspond."""

from collections.abc import Iterable
from typing import Annotated

import torch
from annotated_types import Le
from torch import Tensor, nn

from regard.aliases import known_as
from regard.config import Doc
from regard.config.bounds import Size
from regard.data.columns import Columns
from regard.models.decipherer import CIPHER, PLAIN, Decipherer, symbol_columns
from regard.records import PAD, Batch, Sequences

LONGEST_KEY = 1_000  # each place has a table of all symbols


class FrequencyAnalysis(Decipherer):
    """The plain symbol of rank r for the cipher symbol of rank r, counted separately by place modulo `period`.

    Ties are broken by the smaller number. Where the ciphertext has more symbols than the plaintext, those of the last
    ranks become the rarest plain symbol.
    """

    found: Tensor

    def __init__(self, cipher_symbols: int, plain_symbols: int, period: int) -> None:
        super().__init__()
        self.period, self.plain_symbols = period, plain_symbols
        self.register_buffer("found", torch.zeros(period, cipher_symbols + 1, dtype=torch.int64))
        self.nothing = nn.Parameter(torch.zeros(1), requires_grad=False)  # holds the device of the model

    def fit(self, batches: Iterable[Batch]) -> None:
        """Count symbols of both texts, and match their ranks."""
        size = self.found.shape[1]
        ciphers = torch.zeros(self.period, size, dtype=torch.int64)
        plains = torch.zeros(1, self.plain_symbols + 1, dtype=torch.int64)
        for batch in batches:
            ciphers += counts_by_place(batch.sequences(CIPHER), size, self.period)
            plains += counts_by_place(batch.sequences(PLAIN), self.plain_symbols + 1, 1)
        by_rank = ranked(plains)[0]
        for place, order in enumerate(ranked(ciphers)):
            ranks = torch.arange(len(order)).clamp(max=len(by_rank) - 1)
            self.found[place, order + PAD + 1] = by_rank[ranks].to(self.found.device)

    def plain_probs(self, cipher: Sequences) -> Tensor:
        places = torch.arange(cipher.items.shape[1], device=cipher.items.device) % self.period
        symbols = self.found[places, cipher.items]
        return nn.functional.one_hot(symbols, self.plain_symbols).float()


@known_as("frequency, rank_matching")
def frequency_analysis(
    columns: Columns,
    *,
    period: Annotated[Size, Le(LONGEST_KEY), Doc("Key length of the cipher: positions counted separately.")] = 1,
) -> FrequencyAnalysis:
    """Symbols matched by frequency rank; counted, so it needs objective=counted."""
    cipher, plain = symbol_columns(columns)
    return FrequencyAnalysis(cipher.num_values, plain.num_values, period)


def counts_by_place(texts: Sequences, size: int, period: int) -> Tensor:
    """Return counts (place modulo period, id) of the ids; padding and unknown symbols are not counted."""
    places = torch.arange(texts.items.shape[1], device=texts.items.device) % period
    numbers = (places * size + texts.items)[texts.mask & (texts.items != PAD)]
    return torch.bincount(numbers, minlength=period * size).reshape(period, size).cpu()


def ranked(counts: Tensor) -> Tensor:
    """Return the symbols (row, rank) of counts (row, id), most frequent first; symbols are numbered from 0."""
    return counts[:, PAD + 1 :].sort(dim=-1, descending=True, stable=True).indices
