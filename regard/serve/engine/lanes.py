"""The queues of an engine, by the length of texts."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from regard.results import Prediction
from regard.serve.engine.batcher import Batcher
from regard.serve.engine.cost import PIECE, cost
from regard.serve.engine.faults import ServingError, TooLate
from regard.serve.engine.options import LANES, Limits, Watcher
from regard.serve.engine.pipe import Pipe
from regard.serve.engine.waiting import Request, Texts


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
        self, texts: Texts, sizes: Mapping[int, int], until: float, *, guessed: bool = False
    ) -> dict[int, Prediction]:
        """The predictions of those texts whose pieces are given, by place. Whoever stops waiting is not worked for.

        Where the pieces are `guessed` the model's process counts. Raises Miscounted if a text belongs to another lane.
        """
        loop = asyncio.get_running_loop()
        waits = list[tuple[Batcher, Request]]()
        for batcher in self.batchers:
            places = [place for place, size in sizes.items() if lane_of(size) == batcher.lane]
            if places:
                pieces = [sizes[place] for place in places]
                request = Request(texts, places, pieces, loop.create_future(), loop.time(), guessed=guessed)
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


def guessed(texts: Texts) -> int | None:
    """About how many pieces a short text costs that comes alone; None for any other.

    The model's process counts again: a text of more than the shortest lane takes comes back.
    """
    options = texts.options
    if len(texts.sources) > 1 or texts.targets is not None or options.prefix or options.glossary:
        return None
    size = cost(options, [math.ceil(len(texts.sources[0].encode(errors="replace")) / PIECE)], given=False)
    return size if size <= LANES[0].pieces else None


def _expire(requests: Sequence[Request]) -> None:
    """Too late for what still waits; what the model works on already is answered."""
    for request in requests:
        if request.waiting and not request.answer.done():
            request.answer.set_exception(TooLate())
