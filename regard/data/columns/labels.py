"""A label for each word of a text: the output of a tagger."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.data.collate import padded
from regard.data.columns.column import Column
from regard.data.columns.label import load_labels, save_labels
from regard.errors import DataError, nearest
from regard.records import PAD, Sequences
from regard.registry import Choice


class LabelsColumn(Column):
    """Labels separated by spaces, one per word: ids (batch, longest), from 1 on; 0 is padding."""

    examples = ("a b", "b")
    checked = closed = True

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self._numbers = {label: number for number, label in enumerate(self.labels, start=PAD + 1)}

    @classmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> "LabelsColumn":
        labels = sorted({label for value in values for label in value.split()})
        if not labels:
            raise DataError("labels", "needs a label for each word, and there is none")
        return cls(labels)

    @classmethod
    def load(cls, folder: Path) -> "LabelsColumn":
        return cls(load_labels(folder))

    @classmethod
    def repeated(cls, value: str, times: int) -> str:
        return " ".join([value] * times)

    def save(self, folder: Path) -> None:
        save_labels(folder, self.labels)

    def key(self) -> str:
        return hashlib.sha256(json.dumps(["labels", *self.labels]).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.labels) + 1

    @property
    def num_values(self) -> int:
        return len(self.labels)

    def encode(self, value: str) -> list[int]:
        labels = value.split()
        for place, label in enumerate(labels, start=1):
            if label not in self._numbers:
                problem = f"there is no '{label:.60}', which word {place} has"
                raise DataError("labels", problem, hint=nearest(label, self.labels))
        return [self._numbers[label] for label in labels]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.labels[one - PAD - 1] for one in ids if one != PAD)

    def join(self, flat: NDArray[np.int64], lengths: NDArray[np.int64]) -> Sequences:
        """Pad on the right, to one label at min_length; nothing ends a row."""
        return padded(flat, lengths, min_length=1)
