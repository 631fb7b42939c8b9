"""One number: the output of a regression."""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.config import parse_json
from regard.data.columns.column import Column
from regard.errors import CheckpointError, DataError
from regard.registry import Choice
from regard.text.numbers import number_or_none

_SCALE, _LARGEST = 10**6, 1000  # ids to a standard deviation, and standard deviations up to which numbers differ
_DIGITS, _MOST = 6, 1e11  # of a number as text, and the ratio to the deviation at which all 17 digits are written
_FILE = "number.json"
_FORM = "a number such as 3.5, without unit; the column of the number is chosen by fields"


class NumberColumn(Column):
    """A number, standardised by mean and standard deviation of the training set: float32 (batch,).

    An id is a fixed-point number of standard deviations: six digits after the point, from -1000 to 1000.
    """

    examples = ("1.5", "2")
    checked = True

    def __init__(self, mean: float, std: float) -> None:
        self.mean, self.std = mean, std

    @classmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> "NumberColumn":
        """Learn mean and deviation of the values that are numbers; others are errors where examples are checked."""
        numbers = np.array([found for value in values if (found := number_or_none(value)) is not None])
        if not len(numbers):
            raise DataError("number", "there is no number to learn from", hint=_FORM)
        if numbers.min() == numbers.max():  # the deviation of equal numbers may be above 0 by rounding
            raise DataError("number", f"all {len(numbers):,} numbers are {numbers[0]:g}", hint="nothing can be learnt")
        return cls(float(numbers.mean()), float(numbers.std()))

    @classmethod
    def load(cls, folder: Path) -> "NumberColumn":
        try:
            found = parse_json((folder / _FILE).read_text(encoding="utf-8"))
            return cls(float(found["mean"]), float(found["std"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise CheckpointError(folder / _FILE, f"cannot be read: {error}") from error

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _FILE).write_text(json.dumps({"mean": self.mean, "std": self.std}), encoding="utf-8")

    def key(self) -> str:
        return hashlib.sha256(f"number {self.mean!r} {self.std!r}".encode()).hexdigest()

    def __len__(self) -> int:
        return 2 * _LARGEST * _SCALE + 1

    @property
    def num_values(self) -> int:
        """One output."""
        return 1

    def encode(self, value: str) -> list[int]:
        number = number_or_none(value)
        if number is None:
            raise DataError("number", f"'{value.strip():.60}' is not a number", hint=_FORM)
        return [self.id_of((number - self.mean) / self.std)]

    def id_of(self, standardised: float) -> int:
        """Return the id of a number of standard deviations; of one out of bounds that of the nearest bound."""
        return round((min(max(standardised, -_LARGEST), _LARGEST) + _LARGEST) * _SCALE)

    def number(self, standardised: float) -> float:
        """Return a number as it is in texts."""
        return self.mean + self.std * standardised

    def text(self, standardised: float) -> str:
        """Return a number with six digits, and one more for each power of ten that it has above the deviation.

        So numbers far from 0 and near each other, such as times, stay apart; the last digit is never below an id.
        """
        number = self.number(standardised)
        powers = int(math.log10(min(max(1.0, abs(number) / self.std), _MOST)))
        return f"{number:.{_DIGITS + powers}g}"

    def decode(self, ids: Sequence[int]) -> str:
        return self.text(ids[0] / _SCALE - _LARGEST)

    def values(self, joined: Tensor) -> list[str]:
        return [*map(self.text, joined.tolist())]

    def join(self, flat: NDArray[np.int64], lengths: NDArray[np.int64]) -> Tensor:
        """One standardised number a row: (batch,)."""
        return torch.from_numpy((flat.astype(np.float64) / _SCALE - _LARGEST).astype(np.float32))
