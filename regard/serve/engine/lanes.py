"""Queues of an engine, by length of texts: requests → batches → a model's process → answers.

The batch size follows the measured speed of the model.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from regard.results import Prediction
from regard.serve.engine.capacity import LANES, Batched, Limits, Watcher, cores
from regard.serve.engine.faults import ServingError, TooLate
from regard.serve.engine.messages import Batch, BatchReply, Found, Leave, Said, TextCost
from regard.serve.engine.pipe import Pipe
from regard.serve.engine.questions import QuestionRow
from regard.serve.engine.waiting import Item, QueuedRequest, Waiting, deliver

MIN_BATCH = 64.0  # tokens of a batch: in smaller ones the overhead outweighs the shorter wait
HEED, QUICK_HEED = 0.2, 0.5  # weight of the latest batch in moving averages of speed and of size
LONGEST_WAIT = 60  # seconds
MOST_KINDS = 64  # kinds of requests with a recorded speed
WAIT_SHARE = 0.25  # of a text's seconds that a batch waits at most: where texts are quick, mates are not worth more
ALONE_SECONDS, ALONE_TEXTS = 0.01, 16  # of work below which the last slot leaves its core to the server


class Pace:
    """Batch size: at most `max_batch_tokens`, and less if a batch would take longer than `max_batch_seconds`."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.speed = 1000.0  # tokens per second, measured at warm-up
        self.item_seconds = 0.0  # moving average per text
        self._budgets: dict[QuestionRow, float] = {}

    def warmed(self, speed: float) -> None:
        """Set the speed that the model's process has measured."""
        self.speed = max(speed, 1.0)
        self._budgets.clear()

    def budget(self, kind: QuestionRow) -> float:
        """Return the tokens, padding included, of a batch of this kind."""
        quick = self.speed * self.limits.max_batch_seconds
        return self._bounded(self._budgets.get(kind, quick / math.sqrt(kind.width)))

    def note(self, kind: QuestionRow, items: int, size: int, seconds: float, *, full: bool) -> None:
        """Record the seconds of a batch of `size` tokens; `full`: more texts were waiting than it had room for."""
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
        """Return whole seconds, at least one, until this number of texts is answered."""
        return min(max(math.ceil(items * self.item_seconds), 1), LONGEST_WAIT)

    def wait(self) -> float:
        """Return the seconds that a batch waits for more texts: little beside those that one text takes."""
        return min(self.limits.batch_wait, WAIT_SHARE * self.item_seconds or math.inf)

    def _bounded(self, size: float) -> float:
        return min(max(size, MIN_BATCH), self.limits.max_batch_tokens)


class Working(NamedTuple):
    """A batch in progress."""

    name: str
    items: list[Item]


class Batcher:
    """A queue of an engine with a fixed number of slots, each for one batch at a time.

    `lane`: index in LANES, which take turns.
    """

    def __init__(self, limits: Limits, watchers: Sequence[Watcher], lane: int) -> None:
        self.limits, self.watchers, self.lane = limits, watchers, lane
        self.pace = Pace(limits)
        self._waiting, self._working = Waiting(), list[Working]()
        self._names = count()
        self._arrived = asyncio.Event()
        self._pipe: Pipe | None = None
        self._idle = 0  # free slots share the waiting texts: two small batches at once beat a large one
        self._slots, self._every_core = 0, False  # whether they take all cores, so that none is left for the server

    @property
    def queue_size(self) -> int:
        """Number of waiting texts."""
        return self._waiting.size

    @property
    def in_flight(self) -> int:
        """Number of texts in progress."""
        return sum(len(batch.items) for batch in self._working)

    def put(self, request: QueuedRequest) -> None:
        """Append a request."""
        self._waiting.add(request)
        self._arrived.set()

    def drop(self, request: QueuedRequest) -> None:
        """Cancel a request: drop its waiting texts, and give up those in progress."""
        self._waiting.drop(request)
        for name, items in self._working:
            left = [row for row, item in enumerate(items) if item.request is request]
            if left and self._pipe is not None:
                self._pipe.notify(Leave(batch=name, rows=left))

    def fail(self, error: Callable[[], ServingError]) -> None:
        """Fail all waiting requests, batches in progress included."""
        requests = {*self._waiting, *(item.request for batch in self._working for item in batch.items)}
        self._working.clear()
        for request in requests:
            self._waiting.drop(request)
            if not request.answer.done():
                request.answer.set_exception(error())

    async def work(self, pipe: Pipe, slots: int) -> None:
        """Process batches until the process ends. Raises Gone when it ends."""
        self._pipe, self._idle, self._slots, self._every_core = pipe, slots, slots, slots >= cores()
        tasks = [asyncio.ensure_future(self._slot(pipe)) for _ in range(slots)]
        try:
            await asyncio.gather(*tasks)
        finally:
            self._pipe = None
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _slot(self, pipe: Pipe) -> None:
        company = False  # whether requests arrive together, so that it pays to wait for more
        while True:
            await self._arrived.wait()
            if company or len(self._waiting) > 1:
                await self._gather()
            quick = self._is_quick()
            if not self._waiting or (quick and 0 < len(self._working) >= self._slots - 1):
                self._arrived.clear()  # all were cancelled, or another slot takes them next
                continue
            texts = math.ceil(self.queue_size / max(1, self._idle - quick))
            items = self._waiting.take(self.pace.budget(self._waiting.first.kind), texts)
            self._idle -= 1
            company = any(item.request is not items[0].request for item in items)
            await self._answer(pipe, items)
            self._idle += 1
            self._arrived.set()

    def _is_quick(self) -> bool:
        """Return whether the work at hand is so short that the last slot leaves its core to the server."""
        seconds = (self.queue_size + self.in_flight) * self.pace.item_seconds
        if not (self._every_core and self._waiting and self.queue_size < ALONE_TEXTS and 0 < seconds < ALONE_SECONDS):
            return False
        return all(batch.items[0].request.kind == self._waiting.first.kind for batch in self._working)

    async def _gather(self) -> None:
        """Wait a little for more texts, unless the first has waited already."""
        since = min((request.arrived for request in self._waiting), default=0.0)
        left = since + self.pace.wait() - asyncio.get_running_loop().time()
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
        if whole or done.seconds > self.limits.max_batch_seconds:  # a batch given up early is not a measurement
            self.pace.note(items[0].request.kind, len(items), len(items) * max(sizes), done.seconds, full=full)
        waited = sum(began - item.request.arrived for item in items) / len(items)
        found = [one.prediction.prediction for one in done.outcomes if isinstance(one, Found)]
        sure = [one.confidence for one in found if one.confidence is not None]
        withheld = sum(one.withheld is not None for one in found)
        batched = Batched(len(items), sum(sizes), done.seconds, waited, done.out_of_memory, sure, withheld)
        for watcher in self.watchers:
            watcher(batched)

    def _message(self, batch: Working) -> Batch:
        items = batch.items
        guessed = any(item.request.guessed for item in items)
        encoded = None if guessed else [item.encoded for item in items]
        question = items[0].request.kind.of(item.text for item in items)
        most = LANES[self.lane].pieces if guessed else None
        return Batch(name=batch.name, lane=self.lane, question=question, most=most, encoded=encoded)


class Lanes:
    """All queues of an engine. In the model's process their batches take turns, one search step each."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.watchers = limits, list[Watcher]()
        patient = [replace(limits, max_batch_seconds=lane.patience * limits.max_batch_seconds) for lane in LANES]
        self.batchers = [Batcher(each, self.watchers, lane) for lane, each in enumerate(patient)]

    @property
    def queue_size(self) -> int:
        """Number of waiting texts."""
        return sum(batcher.queue_size for batcher in self.batchers)

    @property
    def in_flight(self) -> int:
        """Number of texts in progress."""
        return sum(batcher.in_flight for batcher in self.batchers)

    def full(self, texts: int) -> bool:
        """Return True if there is no room for this number of short texts."""
        return self.batchers[0].queue_size + texts > self.limits.max_queue

    def crowded(self, sizes: Iterable[int]) -> int | None:
        """Return a full lane that some of the texts need; a lane of long texts with an empty queue takes any number."""
        for lane, texts in Counter(map(lane_of, sizes)).items():
            waiting = self.batchers[lane].queue_size
            if lane and waiting and waiting + texts > self.limits.max_queue * LANES[lane].queue:
                return lane
        return None

    def seconds(self, lane: int = 0) -> int:
        """Return the seconds until all accepted texts are answered, by the recent speed."""
        batcher = self.batchers[lane]
        return batcher.pace.seconds_for(batcher.queue_size + batcher.in_flight)

    def warmed(self, speed: float) -> None:
        """Set the tokens per second that the model's process has measured."""
        for batcher in self.batchers:
            batcher.pace.warmed(speed)

    def fail(self, error: Callable[[], ServingError]) -> None:
        """Fail all waiting requests."""
        for batcher in self.batchers:
            batcher.fail(error)

    async def work(self, pipe: Pipe, slots: int) -> None:
        """Process batches until the process ends, a number of them at once in each lane. Raises Gone when it ends."""
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
        """Return the predictions of the texts with given tokens, by place. A cancelled call drops its work.

        `before`: number of texts that the caller gave before.
        If the tokens are `guessed`, the model's process counts. Raises Miscounted if a text belongs to another lane.
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
    """Return the lane of a text with this cost in tokens."""
    return next(lane for lane, each in enumerate(LANES) if size <= each.pieces)


def _expire(requests: Sequence[QueuedRequest]) -> None:
    """Time out the texts that still wait; those in progress are answered."""
    for request in requests:
        if request.waiting and not request.answer.done():
            request.answer.set_exception(TooLate())
