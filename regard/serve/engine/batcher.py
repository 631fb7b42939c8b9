"""Requests → batches → a model's process → answers."""

import asyncio
from collections.abc import Callable
from typing import Any

from regard.serve.engine.delivery import deliver
from regard.serve.engine.faults import ServingError
from regard.serve.engine.options import Batched, Limits, Watcher
from regard.serve.engine.pace import Pace
from regard.serve.engine.pipe import Gone, Pipe
from regard.serve.engine.waiting import Item, Request, Waiting


class Batcher:
    """The queue of an engine, and what empties it, one batch at a time."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.pace, self.watchers = limits, Pace(limits), list[Watcher]()
        self._waiting, self._working = Waiting(), list[list[Item]]()
        self._arrived = asyncio.Event()

    @property
    def queue_size(self) -> int:
        """Texts that wait."""
        return self._waiting.size

    @property
    def in_flight(self) -> int:
        """Texts that the model works on."""
        return sum(map(len, self._working))

    def put(self, request: Request) -> None:
        """Behind the others."""
        self._waiting.add(request)
        self._arrived.set()

    def drop(self, request: Request) -> None:
        """What of it still waits is not worked on."""
        self._waiting.drop(request)

    def fail(self, error: Callable[[], ServingError]) -> None:
        """Tells all who wait, the batch that is worked on included."""
        requests = {*self._waiting, *(item.request for items in self._working for item in items)}
        self._working.clear()
        for request in requests:
            self._waiting.drop(request)
            if not request.answer.done():
                request.answer.set_exception(error())

    async def work(self, pipe: Pipe, slots: int) -> None:
        """Answers as long as the process does, so many batches at a time. Raises Gone when it ends."""
        tasks = [asyncio.ensure_future(self._slot(pipe)) for _ in range(slots)]
        tasks.append(asyncio.ensure_future(pipe.ended()))
        try:
            await asyncio.gather(*tasks)
        finally:
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
            items = self._waiting.take(self.pace.budget(self._waiting.first.kind))
            company = any(item.request is not items[0].request for item in items)
            await self._answer(pipe, items)

    async def _gather(self) -> None:
        """The first waits a little for others, unless it has waited already."""
        since = min((request.arrived for request in self._waiting), default=0.0)
        left = since + self.limits.batch_wait - asyncio.get_running_loop().time()
        if left > 0:
            await asyncio.sleep(left)

    async def _answer(self, pipe: Pipe, items: list[Item]) -> None:
        began, full = asyncio.get_running_loop().time(), bool(self._waiting)
        self._working.append(items)
        try:
            said = await asyncio.wait_for(pipe.ask(_message(items)), self.limits.stuck_after)
        except TimeoutError:
            raise Gone(f"no answer for {self.limits.stuck_after:g} seconds") from None
        deliver(items, said)
        self._working.remove(items)
        self._note(items, said, began, full)

    def _note(self, items: list[Item], said: dict[str, Any], began: float, full: bool) -> None:
        seconds, pieces = said.get("seconds", 0.0), said.get("pieces", 0)
        sizes = [item.size for item in items]
        self.pace.note(items[0].request.kind, len(items), len(items) * max(sizes), seconds, full=full)
        self.pace.measured(pieces, sum(sizes))
        waited = sum(began - item.request.arrived for item in items) / len(items)
        for watcher in self.watchers:
            watcher(Batched(len(items), pieces, seconds, waited, said.get("out_of_memory", 0)))


def _message(items: list[Item]) -> dict[str, Any]:
    return {
        "options": vars(items[0].request.options),
        "sources": [request.sources[index] for request, index in items],
        "targets": [request.targets[index] for request, index in items if request.targets is not None] or None,
    }
