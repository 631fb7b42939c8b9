"""Requests that wait for a model, which of their texts go into it together, and how its answers come back to them."""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from regard.results import Prediction
from regard.serve.engine.faults import Failed, OutOfMemory, ServingError, TooCostly, TooLong, Unreadable
from regard.serve.engine.messages import BatchReply, CountReply, Found, Refused, Said, TextCost
from regard.serve.engine.questions import SHORT_PIECES, QuestionRow

ALIKE = 3  # texts above SHORT_PIECES may share a batch whose lengths differ by no more than this factor


@dataclass(eq=False)
class QueuedRequest:
    """Texts of one caller's question that wait together; the caller waits for all of them."""

    question: QuestionRow
    places: Sequence[int]  # of those that wait here, among the texts of the question
    sizes: Sequence[TextCost]  # what each costs
    answer: "asyncio.Future[list[Prediction]]"
    arrived: float = 0.0  # seconds, as the event loop counts them
    before: int = field(default=0, kw_only=True)  # texts of the same caller that came earlier
    guessed: bool = field(default=False, kw_only=True)  # whether nobody has counted the pieces yet
    kind: QuestionRow = field(init=False)  # requests of one kind may share a batch
    found: list[Prediction | None] = field(init=False)
    waiting: "deque[int]" = field(init=False)  # numbers, among the places, of the texts that no batch has taken yet

    def __post_init__(self) -> None:
        self.kind = self.question.of(())
        self.found = [None] * len(self.places)
        self.waiting = deque(range(len(self.places)))


class Item(NamedTuple):
    """One text of a request."""

    request: QueuedRequest
    number: int  # among the texts of the request

    @property
    def size(self) -> int:
        """In pieces, its end included."""
        return self.request.sizes[self.number].pieces + 1

    @property
    def encoded(self) -> Any:
        """Its pieces, where they have been counted."""
        return self.request.sizes[self.number].encoded

    @property
    def place(self) -> int:
        """Its place among all that its caller has given."""
        return self.request.before + self.request.places[self.number]

    @property
    def text(self) -> Any:
        """The text, as the question has it."""
        return self.request.question.texts[self.request.places[self.number]]


class Waiting:
    """The queue. Requests take turns, a text each, so that a large one does not keep small ones waiting."""

    def __init__(self) -> None:
        self._requests: deque[QueuedRequest] = deque()

    @property
    def size(self) -> int:
        """Texts that wait."""
        return sum(len(request.waiting) for request in self._requests)

    def __iter__(self) -> Iterator[QueuedRequest]:
        return iter(self._requests)

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, request: QueuedRequest) -> None:
        """Behind the others."""
        self._requests.append(request)

    def drop(self, request: QueuedRequest) -> None:
        """What of it waits is not worked on."""
        if request in self._requests:
            self._requests.remove(request)
        request.waiting.clear()

    @property
    def first(self) -> QueuedRequest:
        """Whose turn it is."""
        return self._requests[0]

    def take(self, most: float, texts: int | None = None) -> list[Item]:
        """The next batch: texts of one kind and of like lengths, rows × longest at most `most` pieces, at least one.

        No more than so many `texts`, where that is given.
        Its first text is the first of the request whose turn it is, so nobody waits for ever. While several requests
        wait none has more than its part of the batch. Those who had a turn go to the end.
        """
        first = self._requests[0]
        part = most / len(self._requests)
        taken, rows, longest = list[Item](), dict[QueuedRequest, int](), 0
        for item in self._in_turns(first, Item(first, first.waiting[0]).size):
            mine, longest = rows.get(item.request, 0) + 1, max(longest, item.size)
            if taken and (longest * (len(taken) + 1) > most or len(taken) == texts):
                break
            if mine == 1 or longest * mine <= part:
                taken.append(item)
                rows[item.request] = mine
        self._take_out(taken)
        return taken

    def _in_turns(self, first: QueuedRequest, size: int) -> Iterator[Item]:
        """A text of each request in turn; who has given fewer pieces goes first."""
        mates = [request for request in self._requests if request.kind == first.kind]
        items = [[Item(mate, number) for number in mate.waiting] for mate in mates]
        lines = [deque(item for item in line if alike(item.size, size)) for line in items]
        turns = [(0, number) for number, line in enumerate(lines) if line]
        while turns:
            given, number = heapq.heappop(turns)
            item = lines[number].popleft()
            yield item
            if lines[number]:
                heapq.heappush(turns, (given + item.size, number))

    def _take_out(self, taken: list[Item]) -> None:
        gone: dict[QueuedRequest, set[int]] = {}
        for request, index in taken:
            gone.setdefault(request, set()).add(index)
        for request, indices in gone.items():
            request.waiting = deque(index for index in request.waiting if index not in indices)
        served = [request for request in self._requests if request in gone and request.waiting]
        others = [request for request in self._requests if request not in gone and request.waiting]
        self._requests = deque([*others, *served])


def alike(one: int, other: int) -> bool:
    """Return whether texts of so many pieces may share a batch: the short of them waits for the long."""
    low, high = sorted((one, other))
    return high <= SHORT_PIECES or high <= ALIKE * low


class Miscounted(Exception):
    """A text whose pieces were guessed has more than its lane takes."""


def deliver(items: Sequence[Item], said: Said) -> None:
    """Each text its answer; a request is answered with its last text, or with the first fault."""
    answers = said.outcomes if isinstance(said, BatchReply) else [_failure(said)] * len(items)
    for item, answer in zip(items, answers, strict=True):
        request = item.request
        if request.answer.done():  # nobody waits for it
            continue
        if isinstance(answer, Refused):
            request.answer.set_exception(_fault(item.place, answer))
            continue
        request.found[item.number] = answer.prediction.prediction
        if None not in request.found:
            request.answer.set_result(cast(list[Prediction], request.found))


def counted(said: Iterable[Said], before: int) -> tuple[dict[int, TextCost], dict[int, Prediction]]:
    """The pieces of texts, as a model's process has counted them, and the answers of those that are only copied.

    Both by the places of the texts. Raises the fault of the first that has one; `before` it the caller gave so many.
    """
    found = [one for some in said for one in (some.outcomes if isinstance(some, CountReply) else [_failure(some)])]
    sizes, answers = dict[int, TextCost](), dict[int, Prediction]()
    for place, one in enumerate(found):
        match one:
            case TextCost():
                sizes[place] = one
            case Found():
                answers[place] = one.prediction.prediction
            case Refused():
                raise _fault(before + place, one)
    return sizes, answers


def _failure(said: Said) -> Refused:
    return Refused("failed", getattr(said, "reason", "no answer"))


_FAULTS: Mapping[str, Callable[[int, Any], ServingError | Miscounted]] = {
    "pieces": lambda index, told: Miscounted(),
    "long": lambda index, told: TooLong(index, *told),
    "costly": lambda index, told: TooCostly(*told),
    "wrong": Unreadable,
    "memory": lambda index, told: OutOfMemory(index),
    "failed": Failed,
}


def _fault(index: int, refused: Refused) -> ServingError | Miscounted:
    return _FAULTS[refused.kind](index, refused.told)
