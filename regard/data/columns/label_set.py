"""Several labels of a closed set, or none: the output of a classifier of texts that may have several."""

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


class LabelSetColumn(LabelColumn):
    """Labels with commas between them, `-` for none: ids are their numbers, tensors 0 and 1 of each (batch, label)."""

    what = "label_set"
    examples = ("a, b", "b")

    @classmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> "LabelSetColumn":
        counts = Counter(label for value in values for label in read_labels(value))
        if not counts:
            raise DataError(cls.what, "needs labels, and there is none", hint="sport, politics")
        check_repeated(cls.what, counts)
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
