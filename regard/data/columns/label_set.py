"""Several labels of a closed set, or none: the output of a classifier of texts that may have several."""

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.columns.label import LabelColumn, check_repeated
from regard.errors import DataError, nearest
from regard.registry import Choice
from regard.text.label_sets import read_labels, write_labels

_OTHER_SEPARATORS = {"|", ";"}  # of labels in other formats


def _warn_of_separators(labels: Iterable[str], *, several: bool) -> None:
    """Warn of a label that looks like several, and where no text has several."""
    joined = next((label for label in labels if _OTHER_SEPARATORS & {*label}), None)
    if joined is None and several:
        return
    problem = "no text has several labels" if joined is None else f"'{joined:.60}' is read as one label"
    other = "" if several else "; for one label a text: task=classification"
    warnings.warn(f"{problem}: commas separate the labels of a text (sport, politics){other}", stacklevel=3)


class LabelSetColumn(LabelColumn):
    """Labels with commas between them, `-` for none: ids are their numbers, tensors 0 and 1 of each (batch, label)."""

    what = "label_set"
    examples = ("a, b", "b")

    @classmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> "LabelSetColumn":
        counts, several = Counter[str](), False
        for value in values:
            counts.update(labels := read_labels(value))
            several = several or len(labels) > 1
        if not counts:
            raise DataError(cls.what, "needs labels, and there is none", hint="sport, politics")
        check_repeated(cls.what, counts)
        _warn_of_separators(counts, several=several)
        labels = sorted(counts)
        return cls(labels, [counts[label] for label in labels])

    def encode(self, value: str) -> list[int]:
        labels = read_labels(value)
        for label in labels:
            if label not in self._numbers:
                hint = f"{nearest(label, self.labels)}; several labels have commas between them"
                raise DataError(self.what, f"there is no '{label:.60}'", hint=hint)
        return sorted(self._numbers[label] for label in labels)

    def decode(self, ids: Sequence[int]) -> str:
        return write_labels(self.labels[one] for one in ids)

    def values(self, joined: Tensor) -> list[str]:
        return [self.decode(row.nonzero().flatten().tolist()) for row in joined]

    def spread(self, count: int) -> str:
        """Return all labels."""
        return write_labels(self.labels)

    def rare(self) -> list[str]:
        """Return none: texts with a rare label have others, too."""
        return []

    def join(self, flat: NDArray[np.int64], lengths: NDArray[np.int64]) -> Tensor:
        """1 for each label that a row has, else 0: (batch, label), float32."""
        found = np.zeros((len(lengths), len(self.labels)), np.float32)
        found[np.repeat(np.arange(len(lengths)), lengths), flat.astype(np.int64)] = 1
        return torch.from_numpy(found)
