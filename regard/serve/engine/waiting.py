"""Waiting requests of a model, their batches, and the way of answers back to them."""

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
    """Waiting texts of one caller's question; the caller waits for all of them."""

    question: QuestionRow
    places: Sequence[int]  # of the waiting texts, among those of the question
    sizes: Sequence[TextCost]  # cost of each
    answer: "asyncio.Future[list[Prediction]]"
    arrived: float = 0.0  # seconds of the event loop's clock
    before: int = field(default=0, kw_only=True)  # earlier texts of the same caller
    guessed: bool = field(default=False, kw_only=True)  # whether the pieces are an estimate
    kind: QuestionRow = field(init=False)  # requests of one kind may share a batch
    found: list[Prediction | None] = field(init=False)
    waiting: "deque[int]" = field(init=False)  # indices among the places, of texts that are in no batch yet

    def __post_init__(self) -> None:
        self.kind = self.question.of(())
        self.found = [None] * len(self.places)
        self.waiting = deque(range(len(self.places)))


class Item(NamedTuple):
    """One text of a request."""

    request: QueuedRequest
    number: int  # index among the texts of the request

    @property
    def size(self) -> int:
        """Number of pieces, with the end."""
        return self.request.sizes[self.number].pieces + 1

    @property
    def encoded(self) -> Any:
        """Its pieces, if they were counted."""
        return self.request.sizes[self.number].encoded

    @property
    def place(self) -> int:
        """Its index among all texts of its caller."""
        return self.request.before + self.request.places[self.number]

    @property
    def text(self) -> Any:
        """The text of the question."""
        return self.request.question.texts[self.request.places[self.number]]


class Waiting:
    """The queue. Requests take turns, one text each, so that a large one does not delay small ones."""

    def __init__(self) -> None:
        self._requests: deque[QueuedRequest] = deque()

    @property
    def size(self) -> int:
        """Number of waiting texts."""
        return sum(len(request.waiting) for request in self._requests)

    def __iter__(self) -> Iterator[QueuedRequest]:
        return iter(self._requests)

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, request: QueuedRequest) -> None:
        """Append a request."""
        self._requests.append(request)

    def drop(self, request: QueuedRequest) -> None:
        """Drop the waiting texts of a request."""
        if request in self._requests:
            self._requests.remove(request)
        request.waiting.clear()

    @property
    def first(self) -> QueuedRequest:
        """Return the request at the head of the queue."""
        return self._requests[0]

    def take(self, most: float, texts: int | None = None) -> list[Item]:
        """Return the next batch: texts of one kind and similar length, rows × longest ≤ `most`, at least one text.

        With `texts`, no more than that number.
        It begins with the request at the head, so no request starves. While several requests wait, each
        gets at most its part of the batch. Served requests move to the tail.
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
        """Yield a text of each request in turn; the request with the fewest pieces so far goes first."""
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
    """Return True if texts of these sizes may share a batch: the short one waits for the long one."""
    low, high = sorted((one, other))
    return high <= SHORT_PIECES or high <= ALIKE * low


class Miscounted(Exception):
    """A text with estimated pieces is too long for its lane."""


def deliver(items: Sequence[Item], said: Said) -> None:
    """Deliver the answers; a request is done with its last text, or at its first error."""
    answers = said.outcomes if isinstance(said, BatchReply) else [_failure(said)] * len(items)
    for item, answer in zip(items, answers, strict=True):
        request = item.request
        if request.answer.done():  # cancelled
            continue
        if isinstance(answer, Refused):
            request.answer.set_exception(_fault(item.place, answer))
            continue
        request.found[item.number] = answer.prediction.prediction
        if None not in request.found:
            request.answer.set_result(cast(list[Prediction], request.found))


def counted(said: Iterable[Said], before: int) -> tuple[dict[int, TextCost], dict[int, Prediction]]:
    """Return the pieces of texts, counted by a model's process, and the answers of texts that are only copied.

    Both by place. Raises the error of the first refused text; `before`: number of texts that the caller gave before.
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
    "pieces": lambda index, details: Miscounted(),
    "long": lambda index, details: TooLong(index, *details),
    "costly": lambda index, details: TooCostly(*details),
    "wrong": Unreadable,
    "memory": lambda index, details: OutOfMemory(index),
    "failed": Failed,
}


def _fault(index: int, refused: Refused) -> ServingError | Miscounted:
    return _FAULTS[refused.kind](index, refused.details)
