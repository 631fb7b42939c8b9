"""Requests that wait for a model, and which of their texts go into it together."""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from regard.results import Prediction
from regard.serve.engine.options import Options

SHORT = 160  # bytes: texts up to here are alike, whatever their lengths
ALIKE = 3.0  # as are longer ones whose lengths differ by no more than this factor


@dataclass(eq=False)
class Request:
    """Texts of one caller, who waits for all of them."""

    sources: Sequence[str]
    targets: Sequence[str] | None  # None: to be translated
    options: Options
    answer: "asyncio.Future[list[Prediction]]"
    before: int = 0  # texts of the same caller that came earlier
    arrived: float = 0.0  # seconds, as the event loop counts them
    found: list[Prediction | None] = field(init=False)
    waiting: "deque[int]" = field(init=False)  # numbers of the texts that no batch has taken yet
    sizes: list[int] = field(init=False)  # bytes of each text, and of its target

    def __post_init__(self) -> None:
        self.found = [None] * len(self.sources)
        self.waiting = deque(range(len(self.sources)))
        targets = self.targets or [""] * len(self.sources)
        self.sizes = [max(size_of(one), size_of(other)) for one, other in zip(self.sources, targets, strict=True)]

    @property
    def kind(self) -> tuple[Options, bool]:
        """Requests of one kind may share a batch."""
        return self.options, self.targets is None


class Item(NamedTuple):
    """One text of a request."""

    request: Request
    place: int  # among the texts of the request

    @property
    def size(self) -> int:
        """In bytes."""
        return self.request.sizes[self.place]


class Waiting:
    """The queue. Requests take turns, a text each, so that a large one does not keep small ones waiting."""

    def __init__(self) -> None:
        self._requests: deque[Request] = deque()

    @property
    def size(self) -> int:
        """Texts that wait."""
        return sum(len(request.waiting) for request in self._requests)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._requests)

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, request: Request) -> None:
        """Behind the others."""
        self._requests.append(request)

    def drop(self, request: Request) -> None:
        """What of it waits is not worked on."""
        if request in self._requests:
            self._requests.remove(request)
        request.waiting.clear()

    @property
    def first(self) -> Request:
        """Whose turn it is."""
        return self._requests[0]

    def take(self, most: float) -> list[Item]:
        """The next batch: texts of one kind and of like lengths, rows × longest at most `most` bytes, at least one.

        Its first text is the first of the request whose turn it is, so nobody waits for ever. Those who had a turn
        go to the end.
        """
        first = self._requests[0]
        size = first.sizes[first.waiting[0]]
        taken: list[Item] = []
        longest = 0
        for item in self._in_turns(first, size):
            longest = max(longest, item.size)
            if taken and longest * (len(taken) + 1) > most:
                break
            taken.append(item)
        self._take_out(taken)
        return taken

    def _in_turns(self, first: Request, size: int) -> Iterator[Item]:
        mates = [request for request in self._requests if request.kind == first.kind]
        lines = [[index for index in mate.waiting if alike(mate.sizes[index], size)] for mate in mates]
        for turn in range(max(map(len, lines))):
            for mate, line in zip(mates, lines, strict=True):
                if turn < len(line):
                    yield Item(mate, line[turn])

    def _take_out(self, taken: list[Item]) -> None:
        gone: dict[Request, set[int]] = {}
        for request, index in taken:
            gone.setdefault(request, set()).add(index)
        for request, indices in gone.items():
            request.waiting = deque(index for index in request.waiting if index not in indices)
        served = [request for request in self._requests if request in gone and request.waiting]
        others = [request for request in self._requests if request not in gone and request.waiting]
        self._requests = deque([*others, *served])


def alike(one: int, other: int) -> bool:
    """Whether texts of these sizes may share a batch: the short of them waits for the long."""
    low, high = sorted((one, other))
    return high <= SHORT or high <= ALIKE * low


def size_of(text: str) -> int:
    """Bytes of UTF-8, which no tokenizer makes more pieces of but for what Unicode's normalisation spells out."""
    return len(text.encode("utf-8", "surrogatepass"))
