"""Rows of numbers: input and output of memory networks."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from regard.config import parse_json
from regard.data.columns.column import Column
from regard.errors import CheckpointError, DataError
from regard.records import Sequences
from regard.registry import Choice
from regard.text.numbers import LARGEST_NUMBER, ROW_FORM, WRITTEN_DIGITS, read_rows, write_rows

SHAPE = "numbers.json"
SCALE = 10**WRITTEN_DIGITS  # ids to the unit
ZERO = LARGEST_NUMBER * SCALE  # the id of 0


class NumbersColumn(Column):
    """`0.31 1; -0.5 0` → numbers (batch, row, width), all rows as wide as those of the first value in training.

    An id is a fixed-point number: six digits after the point, from -1000 to 1000. Tensors are float32.
    """

    examples = ("0 1", "1 0")
    checked = True

    def __init__(self, width: int, rows: int, *, bits: bool = True) -> None:
        """`rows` is the length of the longest training value; `bits` is true where all its numbers are 0 or 1."""
        self.width, self.rows, self.bits = width, rows, bits

    @classmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> "NumbersColumn":
        """Learn width, rows and whether all are bits.

        Raises DataError, with its number, for a value that is not rows of numbers or has another width.
        """
        width = longest = 0
        bits = True
        for number, value in enumerate(values, start=1):
            try:
                numbers = read_rows(value) if value.strip() else np.zeros((0, width))  # empty ones are left out later
            except DataError as error:
                raise DataError(error.path, error.problem, line=number, hint=error.hint) from error
            rows, wide = numbers.shape
            width, longest, bits = width or wide, max(longest, rows), bits and bool(np.isin(numbers, (0, 1)).all())
            if wide != width:
                raise _other_width(wide, width, number)
        if not longest:
            raise DataError("numbers", "there are none to learn from", hint=ROW_FORM)
        return cls(width, longest, bits=bits)

    @classmethod
    def repeated(cls, value: str, times: int) -> str:
        return "; ".join([value] * times)

    @classmethod
    def load(cls, folder: Path) -> "NumbersColumn":
        """Read a column that `save` wrote; older versions did not store `bits`. Raises CheckpointError."""
        try:
            shape = parse_json((folder / SHAPE).read_text(encoding="utf-8"))
            return cls(int(shape["width"]), int(shape["rows"]), bits=bool(shape.get("bits", True)))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise CheckpointError(folder / SHAPE, f"cannot be read: {error}") from error

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        shape = {"width": self.width, "rows": self.rows, "bits": self.bits}
        (folder / SHAPE).write_text(json.dumps(shape), encoding="utf-8")

    def key(self) -> str:
        return hashlib.sha256(f"numbers {self.width}".encode()).hexdigest()

    def __len__(self) -> int:
        return 2 * ZERO + 1

    def encode(self, value: str) -> list[int]:
        numbers = read_rows(value)
        if numbers.shape[1] != self.width:
            raise _other_width(numbers.shape[1], self.width)
        ids: list[int] = (np.rint(numbers * SCALE).astype(np.int64) + ZERO).ravel().tolist()
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        numbers = (np.asarray(ids, np.int64) - ZERO) / SCALE
        return write_rows(numbers[first : first + self.width] for first in range(0, len(numbers), self.width))

    def spread(self, count: int) -> str:
        return write_rows(np.zeros((max(count // self.width, 1), self.width)))

    def join(self, flat: NDArray[np.int64], lengths: NDArray[np.int64]) -> Sequences:
        """Zeros on the right; nothing ends a row."""
        rows = lengths // self.width
        mask = np.arange(rows.max(initial=0)) < rows[:, None]
        items = np.zeros((*mask.shape, self.width), np.float32)
        items[mask] = ((flat.astype(np.int64) - ZERO) / SCALE).reshape(-1, self.width)
        return Sequences(torch.from_numpy(items), torch.from_numpy(mask))


def fixed(numbers: NDArray[np.float64]) -> list[int]:
    """Return numbers, of any shape, as ids; values out of bounds become the nearest bound, NaN becomes 0."""
    bounded = np.clip(np.nan_to_num(numbers.astype(np.float64)), -LARGEST_NUMBER, LARGEST_NUMBER)
    ids: list[int] = (np.rint(bounded * SCALE).astype(np.int64) + ZERO).ravel().tolist()
    return ids


def _other_width(found: int, width: int, number: int | None = None) -> DataError:
    return DataError("numbers", f"rows of {found} numbers, and all rows have {width}", line=number, hint=ROW_FORM)
