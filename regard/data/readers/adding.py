"""The addition and multiplication problems of https://arxiv.org/abs/1512.08756, section 3."""

from typing import Annotated, Literal

import numpy as np

from regard.config import Doc
from regard.data.readers.synthetic import ExampleCount, Length, LengthRange, SampleSeed, ShortestLength, SyntheticReader
from regard.text.numbers import write_rows

_STEPS = 10_000  # to the unit: values have four digits, so that texts stay short
MARKERS = 2


class AddingReader(SyntheticReader):
    """Rows of a value and a marker, which is 1 in two rows and 0 elsewhere; the target combines the marked x and y.

    add: 0.5 + (x + y) / 4 of values from -1 to 1; multiply: x · y of values from 0 to 1. Lengths of T to 1.1 T are
    `{name: adding, length: 110, min_length: 100}`.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        operation: Annotated[Literal["add", "multiply"], Doc("Operation on the two marked values.")] = "add",
        length: Length = 100,
        min_length: ShortestLength = None,
        examples: ExampleCount = 10_000,
        seed: SampleSeed = 1,
    ) -> None:
        self._adds, self._lengths = operation == "add", LengthRange(length, min_length, lowest=MARKERS)
        made = "sums" if self._adds else "products"
        super().__init__(columns, 2, f"{made} of two of {self._lengths} values", examples, seed)

    def make(self, rng: np.random.Generator) -> tuple[str, ...]:
        length = self._lengths.sample(rng)
        rows = np.zeros((length, 2))
        rows[:, 0] = rng.integers(-_STEPS if self._adds else 0, _STEPS + 1, length) / _STEPS
        first, second = int(rng.integers(length)), int(rng.integers(length - 1))
        second += second >= first  # any place but the first one's
        rows[[first, second], 1] = 1
        x, y = rows[first, 0], rows[second, 0]
        return write_rows(rows.tolist()), write_rows([[0.5 + (x + y) / 4 if self._adds else x * y]])
