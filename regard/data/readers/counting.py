"""The language aⁿbⁿ, which only networks that count can predict: https://arxiv.org/abs/1503.01007, section 5.1."""

from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.config.bounds import Size
from regard.data.readers.synthetic import ExampleCount, LengthRange, SampleSeed, SyntheticReader


class CountingReader(SyntheticReader):
    """n times a, then n times b: `a a a b b b`. From the first b on, every symbol is determined."""

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        length: Annotated[Size, Doc("Maximum count of a in a line.")] = 19,
        min_length: Annotated[Size | None, Doc("Minimum count of a in a line; null: equal to the maximum.")] = 1,
        examples: ExampleCount = 10_000,
        seed: SampleSeed = 1,
    ) -> None:
        self._lengths = LengthRange(length, min_length)
        super().__init__(columns, 1, f"counting {self._lengths}", examples, seed)

    def make(self, rng: np.random.Generator) -> tuple[str, ...]:
        count = self._lengths.sample(rng)
        return (" ".join("a" * count + "b" * count),)
