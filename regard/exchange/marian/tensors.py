"""Tensors of Marian's files: 8-bit weights with one multiplier each, as intgemm has them.

A weight is round(w · 127 / max |w|), and the multiplier 127 / max |w| stands behind its elements.
"""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.text.vector_table import Float32s

FLOAT32, INT8, INTGEMM8, INTGEMM8_OF_MARIAN = 0x404, 0x101, 0x4101, 0x10001  # codes of types in model.bin
INTGEMM8_CODES = (INTGEMM8, INTGEMM8_OF_MARIAN)  # Bergamot's fork, marian-dev
EMBEDDINGS, QUANT_MULT = "Wemb", "_QuantMultA"
_PRODUCT = re.compile(r"_W.?$")  # names of the weights of products


class Quantised(NamedTuple):
    """An 8-bit weight."""

    elements: NDArray[np.int8]  # (in, out), and of embeddings (vocab, dim)
    multiplier: float

    def floats(self) -> Float32s:
        """Return what the elements stand for."""
        return self.elements.astype(np.float32) / np.float32(self.multiplier)


StoredTensor = Float32s | Quantised


def is_product(name: str) -> bool:
    """Return whether intgemm has the tensor of this name in 8 bits: weights of products and embeddings."""
    return not name.endswith(QUANT_MULT) and (EMBEDDINGS in name or _PRODUCT.search(name) is not None)


def is_transposed(name: str) -> bool:
    """Return whether an 8-bit tensor of this name stands transposed in a file."""
    return EMBEDDINGS not in name


def quantised(weight: Float32s) -> Quantised:
    """Return a weight in 8 bits."""
    largest = float(np.abs(weight).max(initial=0.0))
    multiplier = np.float32(127.0) / np.float32(largest) if largest > 0 else np.float32(1.0)
    elements = np.clip(np.rint(weight * multiplier), -127, 127).astype(np.int8)
    return Quantised(elements, float(multiplier))


def floats(item: StoredTensor) -> Float32s:
    """Return a tensor in single precision."""
    return item.floats() if isinstance(item, Quantised) else item
