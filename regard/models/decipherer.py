"""The contract of models that read a ciphertext symbol by symbol."""

from abc import abstractmethod
from typing import cast

from torch import Tensor

from regard.data.columns import Columns
from regard.data.columns.symbols import SymbolsColumn
from regard.errors import PartError
from regard.models.model import Model
from regard.records import PAD, Batch, Sequences

CIPHER, PLAIN = "cipher", "plain"  # columns
MIN_PROBABILITY = 1e-9  # lower bound of probabilities, for the logarithm


class Decipherer(Model):
    """p(plain symbol | cipher symbol, place), independently. A loss is that of one plaintext symbol."""

    @abstractmethod
    def plain_probs(self, cipher: Sequences) -> Tensor:
        """Return probabilities (batch, n, plain symbol) of the symbols of a ciphertext; symbols are numbered from 0."""

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Return losses (batch, n) of pairs; a plaintext may be longer or shorter than its ciphertext."""
        ids = batch.sequences(PLAIN).items
        probs = self.plain_probs(batch.sequences(CIPHER))[:, : ids.shape[1]]
        found = probs.new_zeros(ids.shape)
        wanted = (ids[:, : probs.shape[1], None] - PAD - 1).clamp(min=0)
        log_probs = probs.clamp(min=MIN_PROBABILITY).log()
        gold = log_probs.gather(-1, wanted).squeeze(-1)
        found[:, : probs.shape[1]] = -(1 - smoothing) * gold - smoothing * log_probs.mean(dim=-1)
        return found.masked_fill(~self.counted(batch), 0.0)

    def counted(self, batch: Batch) -> Tensor:
        ids, mask = batch.sequences(PLAIN)
        return mask & (ids != PAD)


def symbol_columns(columns: Columns) -> tuple[SymbolsColumn, SymbolsColumn]:
    """Return the columns of ciphertext and plaintext. Raises PartError for a task without symbols."""
    if {CIPHER, PLAIN} - columns.keys():
        raise PartError("reads the symbols of a ciphertext, and this task has none", "task=cipher")
    return cast(SymbolsColumn, columns[CIPHER]), cast(SymbolsColumn, columns[PLAIN])
