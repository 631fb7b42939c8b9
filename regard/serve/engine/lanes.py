"""Long texts and short ones wait apart: a long one takes a hundred times as long as a sentence."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from regard.results import Prediction
from regard.serve.engine.batcher import Batcher
from regard.serve.engine.faults import ServingError, TooLate
from regard.serve.engine.options import Limits, Watcher
from regard.serve.engine.pipe import Pipe
from regard.serve.engine.waiting import Request, Texts

LONG = 120  # pieces of a text; those with more are long
LONG_SHARE = 2  # half as many long texts may wait as short ones
PATIENCE = 8  # times as long as another one may a batch of long texts take: it keeps no short ones waiting


class Lanes:
    """The two queues of an engine. The model's process lets their batches take turns, a step of the search each."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.watchers = limits, list[Watcher]()
        patient = replace(limits, max_batch_seconds=PATIENCE * limits.max_batch_seconds)
        self.short = Batcher(limits, self.watchers)
        self.long = Batcher(patient, self.watchers, long=True)

    @property
    def queue_size(self) -> int:
        """Texts that wait."""
        return self.short.queue_size + self.long.queue_size

    @property
    def in_flight(self) -> int:
        """Texts that the model works on."""
        return self.short.in_flight + self.long.in_flight

    def crowded(self, sizes: Iterable[int]) -> bool:
        """Whether there is no room for those of some texts that are long. Where none waits there is for any number."""
        count, waiting = sum(size > LONG for size in sizes), self.long.queue_size
        return count > 0 and waiting > 0 and waiting + count > self.limits.max_queue // LONG_SHARE

    def seconds(self, *, long: bool = False) -> int:
        """Until what is accepted will be answered, as the queue has moved of late."""
        batcher = self.long if long else self.short
        return batcher.pace.seconds_for(batcher.queue_size + batcher.in_flight)

    def warmed(self, speed: float) -> None:
        """How many pieces a second the model's process has measured."""
        self.short.pace.warmed(speed)
        self.long.pace.warmed(speed)

    def fail(self, error: Callable[[], ServingError]) -> None:
        """Tells all who wait."""
        self.short.fail(error)
        self.long.fail(error)

    async def work(self, pipe: Pipe, slots: int) -> None:
        """Answers as long as the process does, so many batches of each kind at a time. Raises Gone when it ends."""
        works = (self.short.work(pipe, slots), self.long.work(pipe, slots), pipe.ended())
        tasks = [asyncio.ensure_future(each) for each in works]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def answer(self, texts: Texts, sizes: Mapping[int, int], until: float) -> dict[int, Prediction]:
        """The predictions of those texts whose pieces are given, by place. Whoever stops waiting is not worked for."""
        loop = asyncio.get_running_loop()
        waits = list[tuple[Batcher, Request]]()
        for batcher in (self.short, self.long):
            places = [place for place, size in sizes.items() if (size > LONG) is batcher.long]
            if places:
                request = Request(texts, places, [sizes[place] for place in places], loop.create_future(), loop.time())
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


def _expire(requests: Sequence[Request]) -> None:
    """Too late for what still waits; what the model works on already is answered."""
    for request in requests:
        if request.waiting and not request.answer.done():
            request.answer.set_exception(TooLate())
