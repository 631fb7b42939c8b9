"""Requests → batches → a model's process → answers."""

import asyncio
import math
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

from regard.serve.engine.delivery import deliver
from regard.serve.engine.faults import ServingError
from regard.serve.engine.options import LANES, Batched, Limits, Watcher
from regard.serve.engine.pace import Pace
from regard.serve.engine.pipe import Pipe
from regard.serve.engine.waiting import Item, Request, Waiting


class Batch(NamedTuple):
    """Texts that a model works on."""

    name: str
    items: list[Item]


class Batcher:
    """A queue of an engine, and what empties it: as many batches at a time as it has slots.

    `lane`: the place among LANES, which take turns.
    """

    def __init__(self, limits: Limits, watchers: Sequence[Watcher], lane: int) -> None:
        self.limits, self.watchers, self.lane = limits, watchers, lane
        self.pace = Pace(limits)
        self._waiting, self._working = Waiting(), list[Batch]()
        self._names = count()
        self._arrived = asyncio.Event()
        self._pipe: Pipe | None = None
        self._idle = 0  # slots without a batch, which share what waits: two small batches at once beat a large one

    @property
    def queue_size(self) -> int:
        """Texts that wait."""
        return self._waiting.size

    @property
    def in_flight(self) -> int:
        """Texts that the model works on."""
        return sum(len(batch.items) for batch in self._working)

    def put(self, request: Request) -> None:
        """Behind the others."""
        self._waiting.add(request)
        self._arrived.set()

    def drop(self, request: Request) -> None:
        """What of it still waits is not worked on, and what is worked on is given up."""
        self._waiting.drop(request)
        for name, items in self._working:
            left = [row for row, item in enumerate(items) if item.request is request]
            if left and self._pipe is not None:
                self._pipe.tell({"leave": left, "batch": name})

    def fail(self, error: Callable[[], ServingError]) -> None:
        """Tells all who wait, the batches that are worked on included."""
        requests = {*self._waiting, *(item.request for batch in self._working for item in batch.items)}
        self._working.clear()
        for request in requests:
            self._waiting.drop(request)
            if not request.answer.done():
                request.answer.set_exception(error())

    async def work(self, pipe: Pipe, slots: int) -> None:
        """Answers as long as the process does. Raises Gone when it ends."""
        self._pipe, self._idle = pipe, slots
        tasks = [asyncio.ensure_future(self._slot(pipe)) for _ in range(slots)]
        try:
            await asyncio.gather(*tasks)
        finally:
            self._pipe = None
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _slot(self, pipe: Pipe) -> None:
        company = False  # whether requests come several at once, so that it is worth waiting for mates
        while True:
            await self._arrived.wait()
            if company or len(self._waiting) > 1:
                await self._gather()
            if not self._waiting:  # those who waited have gone
                self._arrived.clear()
                continue
            items = self._waiting.take(
                self.pace.budget(self._waiting.first.kind), math.ceil(self.queue_size / self._idle)
            )
            self._idle -= 1
            company = any(item.request is not items[0].request for item in items)
            await self._answer(pipe, items)
            self._idle += 1

    async def _gather(self) -> None:
        """The first waits a little for others, unless it has waited already."""
        since = min((request.arrived for request in self._waiting), default=0.0)
        left = since + self.limits.batch_wait - asyncio.get_running_loop().time()
        if left > 0:
            await asyncio.sleep(left)

    async def _answer(self, pipe: Pipe, items: list[Item]) -> None:
        began, full = asyncio.get_running_loop().time(), bool(self._waiting)
        batch = Batch(f"{self.lane}.{next(self._names)}", items)
        self._working.append(batch)
        said = await pipe.ask(_message(batch, self.lane))
        whole = not any(item.request.answer.done() for item in items)
        deliver(items, said)
        self._working.remove(batch)
        self._note(items, said, began, full=full, whole=whole)

    def _note(self, items: list[Item], said: dict[str, Any], began: float, *, full: bool, whole: bool) -> None:
        seconds = said.get("seconds", 0.0)
        sizes = said.get("sizes") or [item.size for item in items]
        if whole or seconds > self.limits.max_batch_seconds:  # what was given up early says nothing of its size
            self.pace.note(items[0].request.kind, len(items), len(items) * max(sizes), seconds, full=full)
        waited = sum(began - item.request.arrived for item in items) / len(items)
        found = [one["prediction"] for one in said.get("answers") or () if "prediction" in one]
        sure = [one.confidence for one in found if one.confidence is not None]
        withheld = sum(one.withheld is not None for one in found)
        told = Batched(len(items), sum(sizes), seconds, waited, said.get("out_of_memory", 0), sure, withheld)
        for watcher in self.watchers:
            watcher(told)


def _message(batch: Batch, lane: int) -> dict[str, Any]:
    first = batch.items[0].request.texts
    return {
        "batch": batch.name,
        "lane": lane,
        "options": vars(first.options),
        "sources": [item.source for item in batch.items],
        "targets": None if first.targets is None else [item.target for item in batch.items],
        "most": LANES[lane].pieces if any(item.request.guessed for item in batch.items) else None,
    }
