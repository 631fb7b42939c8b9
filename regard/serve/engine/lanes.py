"""The queues of an engine, by the length of texts."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from regard.results import Prediction
from regard.serve.engine.batcher import Batcher
from regard.serve.engine.capacity import LANES, Limits, Watcher
from regard.serve.engine.faults import ServingError, TooLate
from regard.serve.engine.messages import Pieces
from regard.serve.engine.pipe import Pipe
from regard.serve.engine.questions import QuestionRow
from regard.serve.engine.waiting import Request


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
        """Whether so many more short texts are too many."""
        return self.batchers[0].queue_size + texts > self.limits.max_queue

    def crowded(self, sizes: Iterable[int]) -> int | None:
        """The lane that has no room for those of some texts that are long; where none waits there is for any number."""
        for lane, count in Counter(map(lane_of, sizes)).items():
            waiting = self.batchers[lane].queue_size
            if lane and waiting and waiting + count > self.limits.max_queue * LANES[lane].queue:
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
        sizes: Mapping[int, Pieces],
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
        waits = list[tuple[Batcher, Request]]()
        for batcher in self.batchers:
            places = [place for place, size in sizes.items() if lane_of(size.pieces) == batcher.lane]
            if places:
                pieces = [sizes[place] for place in places]
                answer, now = loop.create_future(), loop.time()
                request = Request(question, places, pieces, answer, now, before=before, guessed=guessed)
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


def _expire(requests: Sequence[Request]) -> None:
    """Too late for what still waits; what the model works on already is answered."""
    for request in requests:
        if request.waiting and not request.answer.done():
            request.answer.set_exception(TooLate())
