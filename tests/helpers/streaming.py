"""What tests take from streams, and how they compare it."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice, takewhile
from typing import Any

import torch

from regard.data.streams import PlannedStream, StreamPlace
from regard.records import Batch

Taken = list[tuple[StreamPlace, Batch]]


def take(stream: Any, count: int, start: StreamPlace | None = None, **settings: Any) -> Taken:
    """So many batches from a place on, with the places after them."""
    with closing(stream.stream(start, **settings)) as batches:
        return list(islice(batches, count))


def batch_at(stream: PlannedStream, epoch: int, index: int) -> Batch:
    """One batch by its numbers."""
    with closing(stream.plans({"epoch": epoch, "index": index})) as plans:
        return next(plans).make()


def epoch_batches(stream: PlannedStream, epoch: int) -> list[Batch]:
    """Every batch of an epoch, in order."""
    with closing(stream.plans({"epoch": epoch, "index": 0})) as plans:
        return [plan.make() for plan in takewhile(lambda plan: plan.epoch == epoch, plans)]


def epoch_lines(stream: PlannedStream, epoch: int) -> list[Any]:
    """The lines of every batch of an epoch, in order, as arrays."""
    return [batch.lines.numpy() for batch in epoch_batches(stream, epoch)]


def assert_same_batch(one: Batch, other: Batch) -> None:
    """To the last bit, lines and route included."""
    assert (one.route, one.count, one.columns.keys()) == (other.route, other.count, other.columns.keys())
    for a, b in zip(_tensors(one), _tensors(other), strict=True):
        assert torch.equal(a, b)


def assert_same_batches(one: Sequence[tuple[StreamPlace, Batch]], other: Sequence[tuple[StreamPlace, Batch]]) -> None:
    """The same places and batches."""
    assert [place for place, _ in one] == [place for place, _ in other]
    for (_, a), (_, b) in zip(one, other, strict=True):
        assert_same_batch(a, b)


def _tensors(batch: Batch) -> Iterator[torch.Tensor]:
    yield batch.lines
    for column in batch.columns.values():
        yield from (column,) if isinstance(column, torch.Tensor) else column
