"""Counts of the training text that embedders need before the first update."""

from contextlib import closing

import torch
from torch import Tensor

from regard.data.streams import Stream, epoch_of
from regard.layers.embedders import Embedder
from regard.models.model import Model

WAITING = 2**22  # numbers that are buffered before they are sorted: 32 MB


def count_for_embedders(model: Model, batches: Stream) -> None:
    """Count the ids that each embedder reads in the first epoch of `batches`, and pass it the counts.

    `model.reads(batch)` returns embedders with their ids. Where no embedder needs counts, only one batch is read.
    """
    tallies: dict[Embedder, list[_Tally]] = {}
    with closing(batches.stream()) as stream:
        for after, batch in stream:
            found = [(embedder, embedder.counted(ids)) for embedder, ids in model.reads(batch)]
            for embedder, kinds in found:
                known = tallies.setdefault(embedder, [_Tally() for _ in kinds])
                for tally, numbers in zip(known, kinds, strict=True):
                    tally.add(numbers)
            if epoch_of(after) > 0 or not any(kinds for _, kinds in found):
                break
    for embedder, known in tallies.items():
        embedder.learn([tally.counts() for tally in known])


class _Tally:
    """Counts of numbers."""

    def __init__(self) -> None:
        self.numbers, self.often = torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)
        self.waiting: list[Tensor] = []
        self.room = WAITING

    def add(self, numbers: Tensor) -> None:
        """Count more numbers."""
        self.waiting.append(numbers.flatten())
        self.room -= numbers.numel()
        if self.room < 0:
            self.counts()

    def counts(self) -> tuple[Tensor, Tensor]:
        """Return the numbers so far in ascending order, and the count of each."""
        new = torch.cat([torch.zeros(0, dtype=torch.int64), *self.waiting])
        self.numbers, places = torch.cat([self.numbers, new]).unique(return_inverse=True)
        often = torch.cat([self.often, torch.ones_like(new)])
        self.often = torch.zeros_like(self.numbers).scatter_add_(0, places, often)
        self.waiting, self.room = [], WAITING
        return self.numbers, self.often
