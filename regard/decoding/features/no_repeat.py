"""No n-gram twice (https://arxiv.org/abs/1705.04304, section 2.5)."""

from typing import Annotated

import torch
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import Size
from regard.decoding.features.feature import Feature
from regard.records import Batch, Step


class Written:
    """The ids of each row so far, BOS first."""

    def __init__(self, rows: list[list[int]]) -> None:
        self.rows = rows

    def select(self, rows: Tensor) -> "Written":
        """Rows in that order."""
        return Written([self.rows[row] for row in rows.tolist()])


class NoRepeatFeature(Feature):
    """-inf for a word that would make an n-gram of `size` words stand twice in a target."""

    def __init__(self, *, size: Annotated[Size, Doc("Length of the n-grams that may not stand twice.")] = 3) -> None:
        self.size = size

    def start(self, batch: Batch) -> Written:
        """Nothing is written."""
        return Written([[] for _ in batch.lines])

    def step(self, step: Step, ids: Tensor, state: Written) -> tuple[Tensor, Written]:
        """Looks where the last size - 1 words stood before: what followed them there is forbidden."""
        rows = [[*row, word] for row, word in zip(state.rows, ids[:, 0].tolist(), strict=True)]
        added = torch.zeros_like(step.log_probs)
        for row, written in enumerate(rows):
            seen = written[1:]  # without BOS
            before = seen[len(seen) - self.size + 1 :] if len(seen) >= self.size - 1 else None
            for place in range(len(seen) - self.size + 1 if before is not None else 0):
                if seen[place : place + self.size - 1] == before:
                    added[row, seen[place + self.size - 1]] = float("-inf")
        return added, Written(rows)
