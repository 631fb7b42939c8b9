"""The queues of an engine, by the length of texts: requests → batches → a model's process → answers.

How much goes into a batch follows how fast the model is.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from regard.results import Prediction
from regard.serve.engine.capacity import LANES, Batched, Limits, Watcher
from regard.serve.engine.faults import ServingError, TooLate
from regard.serve.engine.messages import Batch, BatchReply, Found, Leave, Said, TextCost
from regard.serve.engine.pipe import Pipe
from regard.serve.engine.questions import QuestionRow
from regard.serve.engine.waiting import Item, QueuedRequest, Waiting, deliver

LEAST_BATCH = 64.0  # pieces of a batch: smaller ones cost more in calls than they gain in waiting
HEED, QUICK_HEED = 0.2, 0.5  # how much the latest batch counts beside those before, in averages and in sizes
LONGEST_WAIT = 60  # seconds
MOST_KINDS = 64  # kinds of requests whose speed is remembered


class Pace:
    """Batches hold at most `max_batch_tokens`, and fewer where those would take longer than `max_batch_seconds`."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.speed = 1000.0  # pieces per second, as measured while it was warmed up
        self.item_seconds = 0.0  # of a text, in batches of late
        self._budgets: dict[QuestionRow, float] = {}

    def warmed(self, speed: float) -> None:
        """Take over the speed that the model's process has measured."""
        self.speed = max(speed, 1.0)
        self._budgets.clear()

    def budget(self, kind: QuestionRow) -> float:
        """Pieces, padding included, of a batch of this kind."""
        quick = self.speed * self.limits.max_batch_seconds
        return self._bounded(self._budgets.get(kind, quick / math.sqrt(kind.width)))

    def note(self, kind: QuestionRow, items: int, size: int, seconds: float, *, full: bool) -> None:
        """A batch of `size` pieces has taken so long; `full`: there was more to do than it had room for."""
        each = seconds / items
        self.item_seconds += (HEED if self.item_seconds else 1.0) * (each - self.item_seconds)
        quick = seconds < self.limits.max_batch_seconds
        if full or not quick:
            before = self.budget(kind)
            wanted = size * self.limits.max_batch_seconds / max(seconds, 1e-6)
            if len(self._budgets) >= MOST_KINDS:
                self._budgets.clear()
            self._budgets[kind] = self._bounded(
                before + QUICK_HEED * (min(max(wanted, before / 2), before * 2) - before)
            )

    def seconds_for(self, items: int) -> int:
        """Whole seconds, at least one, until so many texts are answered."""
        return min(max(math.ceil(items * self.item_seconds), 1), LONGEST_WAIT)

    def _bounded(self, size: float) -> float:
        return min(max(size, LEAST_BATCH), self.limits.max_batch_tokens)


class Working(NamedTuple):
    """A batch that a model works on."""

    name: str
    items: list[Item]


class Batcher:
    """A queue of an engine, and what empties it: as many batches at a time as it has slots.

    `lane`: the place among LANES, which take turns.
    """

    def __init__(self, limits: Limits, watchers: Sequence[Watcher], lane: int) -> None:
        self.limits, self.watchers, self.lane = limits, watchers, lane
        self.pace = Pace(limits)
        self._waiting, self._working = Waiting(), list[Working]()
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

    def put(self, request: QueuedRequest) -> None:
        """Behind the others."""
        self._waiting.add(request)
        self._arrived.set()

    def drop(self, request: QueuedRequest) -> None:
        """Cancel a request: drop its waiting texts, give up those that are worked on."""
        self._waiting.drop(request)
        for name, items in self._working:
            left = [row for row, item in enumerate(items) if item.request is request]
            if left and self._pipe is not None:
                self._pipe.tell(Leave(batch=name, rows=left))

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
        batch = Working(f"{self.lane}.{next(self._names)}", items)
        self._working.append(batch)
        said = await pipe.ask(self._message(batch))
        whole = not any(item.request.answer.done() for item in items)
        deliver(items, said)
        self._working.remove(batch)
        self._note(items, said, began, full=full, whole=whole)

    def _note(self, items: list[Item], said: Said, began: float, *, full: bool, whole: bool) -> None:
        done = said if isinstance(said, BatchReply) else BatchReply(outcomes=[], seconds=getattr(said, "seconds", 0.0))
        sizes = done.sizes or [item.size for item in items]
        if whole or done.seconds > self.limits.max_batch_seconds:  # what was given up early says nothing of its size
            self.pace.note(items[0].request.kind, len(items), len(items) * max(sizes), done.seconds, full=full)
        waited = sum(began - item.request.arrived for item in items) / len(items)
        found = [one.prediction.prediction for one in done.outcomes if isinstance(one, Found)]
        sure = [one.confidence for one in found if one.confidence is not None]
        withheld = sum(one.withheld is not None for one in found)
        told = Batched(len(items), sum(sizes), done.seconds, waited, done.out_of_memory, sure, withheld)
        for watcher in self.watchers:
            watcher(told)

    def _message(self, batch: Working) -> Batch:
        items = batch.items
        guessed = any(item.request.guessed for item in items)
        encoded = None if guessed else [item.encoded for item in items]
        question = items[0].request.kind.of(item.text for item in items)
        most = LANES[self.lane].pieces if guessed else None
        return Batch(name=batch.name, lane=self.lane, question=question, most=most, encoded=encoded)


class Lanes:
    """The queues of an engine. The model's process lets their batches take turns, a step of the search each."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.watchers = limits, list[Watcher]()
        patient = [replace(limits, max_batch_seconds=lane.patience * limits.max_batch_seconds) for lane in LANES]
        self.batchers = [Batcher(each, self.watchers, lane) for lane, each in enumerate(patient)]

    @property
    def queue_size(self) -> int:
        """Texts that wait."""
        return sum(batcher.queue_size for batcher in self.batchers)

    @property
    def in_flight(self) -> int:
        """Texts that the model works on."""
        return sum(batcher.in_flight for batcher in self.batchers)

    def full(self, texts: int) -> bool:
        """Return whether so many more short texts are too many."""
        return self.batchers[0].queue_size + texts > self.limits.max_queue

    def crowded(self, sizes: Iterable[int]) -> int | None:
        """The lane that has no room for those of some texts that are long; where none waits there is for any number."""
        for lane, texts in Counter(map(lane_of, sizes)).items():
            waiting = self.batchers[lane].queue_size
            if lane and waiting and waiting + texts > self.limits.max_queue * LANES[lane].queue:
                return lane
        return None

    def seconds(self, lane: int = 0) -> int:
        """Until what is accepted will be answered, as the queue has moved of late."""
        batcher = self.batchers[lane]
        return batcher.pace.seconds_for(batcher.queue_size + batcher.in_flight)

    def warmed(self, speed: float) -> None:
        """How many pieces a second the model's process has measured."""
        for batcher in self.batchers:
            batcher.pace.warmed(speed)

    def fail(self, error: Callable[[], ServingError]) -> None:
        """Tells all who wait."""
        for batcher in self.batchers:
            batcher.fail(error)

    async def work(self, pipe: Pipe, slots: int) -> None:
        """Answers as long as the process does, so many batches of each kind at a time. Raises Gone when it ends."""
        works = [batcher.work(pipe, slots) for batcher in self.batchers]
        tasks = [asyncio.ensure_future(each) for each in (*works, pipe.ended())]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def answer(
        self,
        question: QuestionRow,
        sizes: Mapping[int, TextCost],
        until: float,
        *,
        before: int = 0,
        guessed: bool = False,
    ) -> dict[int, Prediction]:
        """The predictions of those texts whose pieces are given, by place. Work of a cancelled caller is dropped.

        `before` them the caller gave so many others.
        Where the pieces are `guessed` the model's process counts. Raises Miscounted if a text belongs to another lane.
        """
        loop = asyncio.get_running_loop()
        waits = list[tuple[Batcher, QueuedRequest]]()
        for batcher in self.batchers:
            places = [place for place, size in sizes.items() if lane_of(size.pieces) == batcher.lane]
            if places:
                pieces = [sizes[place] for place in places]
                answer, now = loop.create_future(), loop.time()
                request = QueuedRequest(question, places, pieces, answer, now, before=before, guessed=guessed)
                waits.append((batcher, request))
                batcher.put(request)
        timer = loop.call_at(until, _expire, [request for _, request in waits])
        try:
            answers = await asyncio.gather(*(request.answer for _, request in waits))
        finally:
            timer.cancel()
            for batcher, request in waits:
                request.answer.cancel()
                batcher.drop(request)
        found = dict[int, Prediction]()
        for (_, request), some in zip(waits, answers, strict=True):
            found |= zip(request.places, some, strict=True)
        return found


def lane_of(size: int) -> int:
    """Which of LANES is for a text that costs so many pieces."""
    return next(lane for lane, each in enumerate(LANES) if size <= each.pieces)


def _expire(requests: Sequence[QueuedRequest]) -> None:
    """Too late for what still waits; what the model works on already is answered."""
    for request in requests:
        if request.waiting and not request.answer.done():
            request.answer.set_exception(TooLate())
