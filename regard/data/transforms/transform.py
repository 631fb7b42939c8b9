"""The contract of transforms: a batch → the same examples, changed at random."""

from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import closing
from functools import partial
from typing import NamedTuple

import numpy as np

from regard.data.streams import BatchPlan, PlannedStream, StreamPlace
from regard.records import Batch


class LineSeeds(NamedTuple):
    """Seeds of the random numbers of a transform."""

    seed: int
    stage: int  # number of the transform in its stream, so that two of one kind sample differently
    epoch: int

    def of(self, line: int) -> np.random.Generator:
        """Return the generator of a line in this epoch, the same in any batch."""
        return np.random.default_rng((self.seed, self.stage, self.epoch, line))


class Transform(ABC):
    """A change of batches. A row of TRANSFORMS.

    The change of a row depends on the row and on the generator of its line in `batch.lines` alone.
    """

    @abstractmethod
    def __call__(self, batch: Batch, draws: LineSeeds) -> Batch:
        """Return the changed batch, with the same rows in order and updated `mask`, EOS and `count`."""


class Transformed(PlannedStream):
    """A stream whose batches are transformed in the thread that makes them."""

    def __init__(self, stream: PlannedStream, transform: Transform, *, seed: int = 0, stage: int = 0) -> None:
        self.inner, self.transform, self.seed, self.stage = stream, transform, seed, stage

    def plans(self, start: StreamPlace | None = None, *, workers: int = 0) -> Generator[BatchPlan, None, None]:
        with closing(self.inner.plans(start, workers=workers)) as plans:
            for plan in plans:
                yield plan._replace(make=partial(self._make, plan))

    def _make(self, plan: BatchPlan) -> Batch:
        return self.transform(plan.make(), LineSeeds(self.seed, self.stage, plan.epoch))
