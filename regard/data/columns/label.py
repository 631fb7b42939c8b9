"""One label of a closed set: what a classifier chooses."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.columns.column import Column
from regard.errors import CheckpointError, DataError, nearest
from regard.registry import Choice

LABELS = "labels.json"


class LabelColumn(Column):
    """A label by its number: ids (batch,), in the alphabetical order of the labels."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self._numbers = {label: number for number, label in enumerate(self.labels)}

    @classmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> "LabelColumn":
        """Collect all labels. Raises DataError where there are fewer than two."""
        labels = sorted({label for value in values if (label := value.strip())})
        if len(labels) < 2:
            found = f"'{labels[0]}'" if labels else "none"
            raise DataError("label", f"needs two different labels, and there is {found}")
        return cls(labels)

    @classmethod
    def load(cls, folder: Path) -> "LabelColumn":
        """Read the labels. Raises CheckpointError."""
        return cls(load_labels(folder))

    def save(self, folder: Path) -> None:
        """Write the labels."""
        save_labels(folder, self.labels)

    def key(self) -> str:
        """SHA-256 of the labels."""
        return hashlib.sha256(json.dumps(self.labels).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.labels)

    def encode(self, value: str) -> list[int]:
        """Return the label's number, alone. Raises DataError for a label that training has not seen."""
        label = value.strip()
        if label not in self._numbers:
            raise DataError("label", f"there is no '{label:.60}'", hint=nearest(label, self.labels))
        return [self._numbers[label]]

    def check(self, value: str) -> None:
        """Raise DataError for a label that training has not seen."""
        self.encode(value)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the label of a number."""
        return self.labels[ids[0]]

    def join(self, flat: NDArray[np.int64], lengths: NDArray[np.int64]) -> Tensor:
        """One number a row: (batch,)."""
        return torch.from_numpy(flat.astype(np.int64))


def save_labels(folder: Path, labels: Sequence[str]) -> None:
    """Write labels into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LABELS).write_text(json.dumps(labels, ensure_ascii=False, indent=0), encoding="utf-8")


def load_labels(folder: Path) -> list[str]:
    """Read labels. Raises CheckpointError where they are missing or damaged."""
    try:
        labels = json.loads((folder / LABELS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(folder / LABELS, f"cannot be read: {error}") from error
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise CheckpointError(folder / LABELS, "is no list of labels")
    return labels
