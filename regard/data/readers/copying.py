"""The copy task of Neural Turing Machines: https://arxiv.org/abs/1410.5401, section 4.1."""

from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.config.bounds import Size
from regard.data.readers.synthetic import ExampleCount, Length, LengthRange, SampleSeed, ShortestLength, SyntheticReader
from regard.text.numbers import write_rows


class CopyingReader(SyntheticReader):
    """Rows of random bits, and a copy of them: `{name: copying, length: 20, min_length: 1, examples: 20000}`."""

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        width: Annotated[Size, Doc("Width of a row, in bits.")] = 8,
        length: Length = 20,
        min_length: ShortestLength = 1,
        examples: ExampleCount = 10_000,
        seed: SampleSeed = 1,
    ) -> None:
        self._width, self._lengths = width, LengthRange(length, min_length)
        super().__init__(columns, 2, f"copying {self._lengths} rows of {width} bits", examples, seed)

    def make(self, rng: np.random.Generator) -> tuple[str, ...]:
        bits = rng.integers(0, 2, (self._lengths.sample(rng), self._width))
        text = write_rows(bits.tolist())
        return text, text
