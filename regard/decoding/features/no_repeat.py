"""No n-gram twice (https://arxiv.org/abs/1705.04304, section 2.5)."""

from collections.abc import Iterator
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

    def extended(self, ids: Tensor) -> "Written":
        """Return the same with ids (rows, 1) behind them."""
        return Written([[*row, word] for row, word in zip(self.rows, ids[:, 0].tolist(), strict=True)])

    def repeats(self, size: int) -> Iterator[list[int]]:
        """For each row the words that would make an n-gram of `size` words stand there once more.

        Looks where the last size - 1 words stood before: what followed them there is such a word.
        """
        for written in self.rows:
            seen = written[1:]  # without BOS
            before = seen[len(seen) - size + 1 :] if len(seen) >= size - 1 else None
            places = range(len(seen) - size + 1 if before is not None else 0)
            yield [seen[place + size - 1] for place in places if seen[place : place + size - 1] == before]


class NoRepeatFeature(Feature):
    """-inf for a word that would make an n-gram of `size` words stand twice in a target."""

    name = "no_repeat"

    def __init__(self, *, size: Annotated[Size, Doc("Length of the n-grams that may not repeat.")] = 3) -> None:
        self.size = size

    def start(self, batch: Batch) -> Written:
        return Written([[] for _ in batch.lines])

    def step(self, step: Step, ids: Tensor, state: Written) -> tuple[Tensor, Written]:
        state = state.extended(ids)
        added = torch.zeros_like(step.log_probs)
        for row, repeats in enumerate(state.repeats(self.size)):
            added[row, repeats] = float("-inf")
        return added, state
