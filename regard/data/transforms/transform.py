"""The contract of transforms: a batch → the same examples, changed at random."""

from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import closing
from functools import partial
from typing import NamedTuple

import numpy as np

from regard.data.streams import BatchPlan, PlannedStream, StreamPlace
from regard.records import Batch


class Draws(NamedTuple):
    """All the chance that a transform may use."""

    seed: int
    stage: int  # of a transform among those of a stream, so that two of one kind draw apart
    epoch: int

    def of(self, line: int) -> np.random.Generator:
        """The generator of a line in this epoch, the same in whichever batch the line stands."""
        return np.random.default_rng((self.seed, self.stage, self.epoch, line))


class Transform(ABC):
    """A change of batches. A row of TRANSFORMS.

    What becomes of a row may depend on the row and on `draws.of` its line in `batch.lines` alone.
    """

    @abstractmethod
    def __call__(self, batch: Batch, draws: Draws) -> Batch:
        """The changed batch, of the same rows in the same order; `mask`, EOS and `count` are right again."""


class Transformed(PlannedStream):
    """A stream whose batches are transformed where they are made, in the thread that makes them."""

    def __init__(self, stream: PlannedStream, transform: Transform, *, seed: int = 0, stage: int = 0) -> None:
        self.inner, self.transform, self.seed, self.stage = stream, transform, seed, stage

    def plans(self, start: StreamPlace | None = None, *, workers: int = 0) -> Generator[BatchPlan, None, None]:
        with closing(self.inner.plans(start, workers=workers)) as plans:
            for plan in plans:
                yield plan._replace(make=partial(self._make, plan))

    def _make(self, plan: BatchPlan) -> Batch:
        return self.transform(plan.make(), Draws(self.seed, self.stage, plan.epoch))
