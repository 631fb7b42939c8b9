"""The likeliest words of a row and their log-probabilities, without a second pass over the vocabulary."""

import ctypes
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from regard.ops.kernels.packing import PackedProduct, Precision, ProductStruct
from regard.pieces import UNK
from regard.runtime.compiled import library

_SOURCE = Path(__file__).with_name("vocabulary.cpp")
MOST_WORDS = 64  # words of a row; torch's selection is quicker for more

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64


class PackedTable:
    """A head's table (vocab, dim) and its bias, or none."""

    def __init__(
        self, kernel: ctypes.CDLL, weight: Tensor, bias: Tensor | None, precision: Precision = "float32"
    ) -> None:
        self._kernel, self._weight, self._bias, self._precision = kernel, weight.detach(), bias, precision
        self.product = PackedProduct(weight, bias, kernel.panel(), precision)
        self._best = kernel["best_words"]
        self._best.argtypes = [
            ctypes.POINTER(ProductStruct),
            _LONG,
            _POINTER,
            _LONG,
            _LONG,
            *[_POINTER] * 3,
            _LONG,
            *[_POINTER] * 2,
        ]
        self._best.restype = None

    def narrowed(self, words: Tensor) -> "PackedTable":
        """Return the table of these words (n,) alone."""
        bias = None if self._bias is None else self._bias.detach()[words]
        return PackedTable(self._kernel, self._weight[words], bias, self._precision)

    def best(
        self, states: Tensor, count: int, forbidden: Sequence[int], included: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor]:
        """states (rows, dim) → words and log-probabilities (rows, count), the likeliest first, of equals the first.

        `forbidden` words, rising, count in the sum of all probabilities, and have -inf. Those in `included`,
        rising, stand behind the likeliest.
        """
        states, hidden = states.contiguous(), torch.tensor(forbidden, dtype=torch.int64)
        words = torch.full((len(states), count), UNK)
        log_probs = states.new_empty(len(states), count)
        given = (len(states), states.data_ptr(), count, len(hidden), hidden.data_ptr())
        wishes = torch.tensor([*included], dtype=torch.int64).repeat(len(states), 1)
        wished = states.new_empty(wishes.shape)
        more = (len(included), wishes.data_ptr(), wished.data_ptr())
        self._best(self.product.struct, *given, words.data_ptr(), log_probs.data_ptr(), *more)
        return (
            (torch.cat([words, wishes], dim=-1), torch.cat([log_probs, wished], dim=-1))
            if included
            else (words, log_probs)
        )


def compiled_vocabulary() -> ctypes.CDLL | None:
    """Return the compiled code, None where it cannot be compiled."""
    return library(_SOURCE, (ProductStruct,))
