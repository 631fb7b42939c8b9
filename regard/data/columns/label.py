"""One label of a closed set: the output of a classifier."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.config import parse_json
from regard.data.columns.column import Column
from regard.errors import CheckpointError, DataError, nearest
from regard.registry import Choice

_Item = TypeVar("_Item")

_LONG, _WORDS = 25, 2  # characters and words beyond which a label may be a text
_MANY, _UNIQUE = 20, 0.9  # different labels, and the fraction of them that occur once, of columns that hold no labels
_LABELS, _COUNTS = "labels.json", "counts.json"


class LabelColumn(Column):
    """A label by its number: ids (batch,), in the alphabetical order of the labels."""

    what: ClassVar[str] = "label"  # name of a value in errors
    checked = closed = True

    def __init__(self, labels: Sequence[str], counts: Sequence[int] | None = None) -> None:
        """`counts` is the number of training examples of each label; None: not counted."""
        self.labels, self.counts = tuple(labels), None if counts is None else tuple(counts)
        self._numbers = {label: number for number, label in enumerate(self.labels)}

    @classmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> "LabelColumn":
        counts = Counter(label for value in values if (label := value.strip()))
        labels = sorted(counts)
        if len(labels) < 2:
            found = f"'{labels[0]}'" if labels else "none"
            raise DataError(cls.what, f"needs two different {cls.what}s, and there is {found}")
        if cls.closed:
            check_repeated(cls.what, counts)
        return cls(labels, [counts[label] for label in labels])

    @classmethod
    def load(cls, folder: Path) -> "LabelColumn":
        labels, path = load_labels(folder), folder / _COUNTS
        if not path.exists():  # they were not counted
            return cls(labels)
        return cls(labels, _load_list(path, int, f"list of {len(labels)} counts", len(labels)))

    def save(self, folder: Path) -> None:
        save_labels(folder, self.labels)
        if self.counts is not None:
            (folder / _COUNTS).write_text(json.dumps(self.counts), encoding="utf-8")

    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.labels).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.labels)

    def encode(self, value: str) -> list[int]:
        label = value.strip()
        if label not in self._numbers:
            raise DataError(self.what, f"there is no '{label:.60}'", hint=nearest(label, self.labels))
        return [self._numbers[label]]

    def rare(self) -> list[str]:
        return [label for label, count in zip(self.labels, self.counts or (), strict=False) if count == 1]

    def decode(self, ids: Sequence[int]) -> str:
        return self.labels[ids[0]]

    def join(self, flat: NDArray[np.int64], lengths: NDArray[np.int64]) -> Tensor:
        """One number a row: (batch,)."""
        return torch.from_numpy(flat.astype(np.int64))


def check_repeated(what: str, counts: Mapping[str, int]) -> None:
    """Raise DataError where nearly every label occurs once and most are sentences, as texts in place of labels are."""
    once = sum(count == 1 for count in counts.values())
    long = sum(len(label) > _LONG or len(label.split()) > _WORDS for label in counts)
    if len(counts) >= _MANY and once >= _UNIQUE * len(counts) and long > len(counts) / 2:
        problem = (
            f"{once:,} of {len(counts):,} different {what}s occur once: '{min(counts, key=counts.__getitem__):.60}'"
        )
        hint = "texts and labels may be exchanged: name the fields, fields: {text: 2, label: 1}, or the files"
        raise DataError(what, problem, hint=hint)


def save_labels(folder: Path, labels: Sequence[str]) -> None:
    """Write labels into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _LABELS).write_text(json.dumps(labels, ensure_ascii=False, indent=0), encoding="utf-8")


def load_labels(folder: Path) -> list[str]:
    """Read labels. Raises CheckpointError where they are missing or damaged."""
    return _load_list(folder / _LABELS, str, "list of labels")


def _load_list(path: Path, kind: type[_Item], what: str, length: int | None = None) -> list[_Item]:
    """Read a list of one kind. Raises CheckpointError where it is missing, damaged, or of another length."""
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(path, f"cannot be read: {error}") from error
    whole = isinstance(found, list) and all(isinstance(one, kind) for one in found)
    if not whole or length not in (None, len(found)):
        raise CheckpointError(path, f"is not a {what}")
    return found
