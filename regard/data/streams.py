"""Streams: endless batches, from any place on, for one process or several.

A stream plans first and makes later: plans are cheap and known to every process, batches are made by threads, and only
in the process that trains on them. A place is the saved state of a stream, opaque to its holder.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from regard.errors import ConfigError, DataError
from regard.records import Batch

_T = TypeVar("_T")
R = TypeVar("R")


def prefetch(work: Callable[[_T], R], items: Iterator[_T], workers: int, ahead: int) -> Generator[R, None, None]:
    """Yield `map(work, items)`, up to `ahead` results in advance; an error is raised in place of its result.

    Closing the generator ends the threads. Without workers each result is computed on request.
    """
    if workers == 0:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="regard-data")
    waiting, fault = deque[Future[R]](), None
    try:
        while fault is None:
            try:
                waiting.append(pool.submit(work, next(items)))
            except Exception as error:  # of `items`: raised after the results before it
                fault = error
            else:
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if not isinstance(fault, StopIteration):
            raise fault
    finally:
        pool.shutdown(cancel_futures=True)


BATCHES_AHEAD = 4  # batches kept ready per worker
WHICH = 0x4D4958  # keeps these random numbers apart from others of the same seed

StreamPlace = Mapping[str, Any]  # JSON; always with "epoch", the number to show


class Shard(NamedTuple):
    """The batch numbered `rank`, from 0, of every `size` successive ones."""

    rank: int = 0
    size: int = 1


WHOLE = Shard()


class Stream(Protocol):
    """Endless batches."""

    def stream(
        self, start: StreamPlace | None = None, *, workers: int = 0, shard: Shard = WHOLE
    ) -> Generator[tuple[StreamPlace, Batch], None, None]:
        """Yield each batch of a shard from a place on (None: the beginning), with the place after it.

        The place is after the whole group of `shard.size` batches, so all ranks have the same one.
        """
        ...

    def count(self, epochs: int, most: int) -> int:
        """Return the number of batches of the first epochs; any number above `most` where there are more."""
        ...


class BatchPlan(NamedTuple):
    """A batch that is not made yet."""

    after: StreamPlace
    epoch: int  # of the batch in its own corpus
    make: Callable[[], Batch]


class PlannedStream(ABC):
    """A stream whose next place is known before a batch is made."""

    @abstractmethod
    def plans(self, start: StreamPlace | None = None, *, workers: int = 0) -> Generator[BatchPlan, None, None]:
        """Yield the plans of all batches from a place on. With workers a thread may plan ahead; closing ends it.

        Raises DataError where the stream has no such place: the data or settings have changed.
        """

    def stream(
        self, start: StreamPlace | None = None, *, workers: int = 0, shard: Shard = WHOLE
    ) -> Generator[tuple[StreamPlace, Batch], None, None]:
        """Yield each batch of a shard from a place on, with the place after its group.

        `workers` threads make batches ahead; neither content nor order depends on them. Closing it ends them.
        """
        with closing(self.plans(start, workers=workers)) as plans:
            groups = zip(*[plans] * shard.size, strict=False)  # successive plans, one for each process
            own = (BatchPlan(group[-1].after, *group[shard.rank][1:]) for group in groups)
            made = prefetch(lambda plan: (plan.after, plan.make()), own, workers, BATCHES_AHEAD * workers)
            with closing(made) as batches:
                yield from batches

    def count(self, epochs: int, most: int) -> int:
        """Return the number of batches of the first epochs, by their plans; above `most` where there are more."""
        with closing(self.plans()) as plans:
            return next(
                number for number, plan in enumerate(plans, 1) if number > most or epoch_of(plan.after) >= epochs
            )


class EpochStream(PlannedStream):
    """A stream whose epochs are planned as a whole, without threads."""

    place: Path  # named in errors

    @abstractmethod
    def batches_of(self, epoch: int) -> Sequence[Callable[[], Batch]]:
        """Return functions that make the batches of an epoch."""

    def plans(self, start: StreamPlace | None = None, *, workers: int = 0) -> Generator[BatchPlan, None, None]:
        first_epoch, skipped = epoch_and_index(start, self.place)
        for epoch in count(first_epoch):
            batches = self.batches_of(epoch)
            if skipped >= len(batches):
                raise no_such_place(self.place, start or {"epoch": epoch, "index": skipped})
            for number in range(skipped, len(batches)):
                last = number + 1 == len(batches)
                yield BatchPlan({"epoch": epoch + last, "index": 0 if last else number + 1}, epoch, batches[number])
            skipped = 0


class MixedStream(PlannedStream):
    """Streams by name; the stream of each batch is sampled by (seed, number of the batch) with the given weights.

    Its epoch is the least of its parts', so after n epochs each part has been read at least n times.
    """

    def __init__(
        self,
        parts: Mapping[str, PlannedStream],
        weights: Mapping[str, float],
        *,
        routes: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> None:
        """`weights` need not sum to one; batches of a part in `routes` get that route.

        Raises ConfigError for weights or routes that do not match the parts.
        """
        if not parts or parts.keys() != weights.keys():
            problem = f"names {', '.join(weights) or 'nothing'}, the streams are {', '.join(parts) or 'none'}"
            raise ConfigError("data.weights", problem, "one weight a stream")
        if bad := [name for name, weight in weights.items() if not 0 < weight < float("inf")]:
            raise ConfigError(f"data.weights.{bad[0]}", f"is {weights[bad[0]]}", "a number above 0")
        if strange := [name for name in routes or {} if name not in parts]:
            raise ConfigError(f"data.routes.{strange[0]}", "there is no such stream", f"there is: {', '.join(parts)}")
        self.parts, self.routes, self.seed = dict(parts), dict(routes or {}), seed
        self.shares = {name: weights[name] / sum(weights.values()) for name in self.parts}
        self._names, self._bounds = list(self.parts), np.cumsum(list(self.shares.values()))

    def plans(self, start: StreamPlace | None = None, *, workers: int = 0) -> Generator[BatchPlan, None, None]:
        places: dict[str, StreamPlace | None] = dict.fromkeys(self.parts)
        if start is not None:
            if start.get("parts", {}).keys() != self.parts.keys():
                raise no_such_place("data", start)
            places = dict(start["parts"])
        with ExitStack() as stack:
            plans = {
                name: stack.enter_context(closing(part.plans(places[name], workers=workers)))
                for name, part in self.parts.items()
            }
            for number in count(0 if start is None else start["number"]):
                name = self._sampled(number)
                plan = next(plans[name])
                places = {**places, name: plan.after}
                after = {"epoch": min(map(epoch_of, places.values())), "number": number + 1, "parts": places}
                yield BatchPlan(after, plan.epoch, partial(self._routed, name, plan.make))

    def _sampled(self, number: int) -> str:
        """Return the part of batch `number`."""
        draw = np.random.default_rng((self.seed, WHICH, number)).random()
        return self._names[min(int(np.searchsorted(self._bounds, draw, side="right")), len(self._names) - 1)]

    def _routed(self, name: str, make: Callable[[], Batch]) -> Batch:
        batch = make()
        return batch._replace(route=self.routes.get(name, batch.route))


def first_epoch(batches: Stream) -> Iterator[Batch]:
    """Yield the batches of the first epoch."""
    with closing(batches.stream()) as stream:
        for after, batch in stream:
            yield batch
            if epoch_of(after) > 0:
                return


def epoch_of(place: StreamPlace | None) -> int:
    """Return the epoch of a place; the beginning is in epoch 0."""
    return 0 if place is None else int(place["epoch"])


def epoch_and_index(place: StreamPlace | None, folder: Path) -> tuple[int, int]:
    """Return epoch and index of a place in one corpus. Raises DataError for a place in another kind of stream."""
    if place is None:
        return 0, 0
    if place.keys() != {"epoch", "index"}:
        raise no_such_place(folder, place)
    return place["epoch"], place["index"]


def no_such_place(folder: Path | str, place: StreamPlace) -> DataError:
    """Return the error for a place that a stream does not have."""
    index = f"batch {place['index']:,}" if "index" in place else "such place"
    problem = f"epoch {epoch_of(place)} has no {index}, from which the run should resume"
    return DataError(folder, problem, hint="the data or settings have changed since")


def saved_place(state: Mapping[str, Any]) -> StreamPlace | None:
    """Return the place in the state of a checkpoint; older ones have a `cursor` of epoch and index."""
    if "cursor" in state:
        epoch, index = state["cursor"]
        return {"epoch": epoch, "index": index}
    place: StreamPlace | None = state.get("place")
    return place
