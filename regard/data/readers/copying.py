"""The copy task of Neural Turing Machines: https://arxiv.org/abs/1410.5401, section 4.1."""

from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.config.bounds import Size
from regard.data.readers.seeded import (
    Examples,
    Length,
    Seed,
    SeededReader,
    Shortest,
    drawn_length,
    length_range,
    spanned,
)
from regard.text.numbers import write_rows


class CopyingReader(SeededReader):
    """Rows of random bits, and the same once more: `{name: copying, length: 20, shortest: 1, examples: 20000}`."""

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        width: Annotated[Size, Doc("Bits of a row.")] = 8,
        length: Length = 20,
        shortest: Shortest = 1,
        examples: Examples = 10_000,
        seed: Seed = 1,
    ) -> None:
        self._width, self._lengths = width, length_range(length, shortest)
        super().__init__(columns, 2, f"copying {spanned(self._lengths)} rows of {width} bits", examples, seed)

    def make(self, draws: np.random.Generator) -> tuple[str, ...]:
        """Return the bits twice."""
        bits = draws.integers(0, 2, (drawn_length(self._lengths, draws), self._width))
        text = write_rows(bits.tolist())
        return text, text
