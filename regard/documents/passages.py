"""One sentence as a model is asked it, with what must come out whole: placeholders and marks (tags, line breaks …)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["open", "close", "point"]


class Held(NamedTuple):
    """A stretch of a whole text that comes out as `body`, exactly once."""

    start: int
    end: int
    body: str
    machine: bool = False  # read by programs
    shown: bool = False
    left: bool = False  # a space stands before it
    right: bool = False  # a space stands behind it
    inside: tuple[tuple[int, int], ...] = ()  # marks in it: after how many of its characters, and their numbers


class Mark(NamedTuple):
    """A tag at a place of a text. `name` pairs an opening with its closing one; a point stands alone."""

    place: int
    kind: Kind
    name: str
    number: int
    left: bool = False  # a space stands before it
    right: bool = False  # a space stands behind it
    held: Held | None = None  # what a point stands for: a placeholder with marks in it


@dataclass
class Node:
    """An element over `start` to `end`, or a point. A bound one reaches over its end of the sentence."""

    start: int
    end: int
    opening: int | None
    closing: int | None = None
    bound: Literal["", "left", "right"] = ""
    name: str = ""
    left: bool = False
    right: bool = False
    held: Held | None = None
    children: list["Node"] = field(default_factory=list)


@dataclass(frozen=True)
class Passage:
    """A sentence to translate. Where held ones and nodes stand is told in places of the whole text."""

    text: str  # as the model is asked it
    places: Sequence[int]  # of its characters, in the whole text
    held: tuple[Held, ...] = ()
    nodes: tuple[Node, ...] = ()

    @property
    def explain(self) -> bool:
        """Whether an alignment helps to put things where they belong."""
        return bool(self.held or self.nodes)


class Stretch(NamedTuple):
    """A passage and, in front of it, what stays as it is."""

    before: str
    passage: Passage


class Cut(NamedTuple):
    """All of a text, cut up: joined, what was read."""

    stretches: list[Stretch]
    rest: str  # behind the last passage, or all of a text without any


def tree(marks: Sequence[Mark], start: int, end: int) -> list[Node]:
    """Marks in order → nodes. What has no partner here reaches over the end of the sentence; nothing is lost."""
    root = Node(start, end, None)
    stack, waiting = [root], dict[str, list[Node]]()
    for place, kind, name, number, left, right, held in marks:
        node = Node(place, place, None if held else number, name=name, left=left, right=right, held=held)
        if kind == "open":
            stack[-1].children.append(node)
            stack.append(node)
            waiting.setdefault(name, []).append(node)
        elif kind == "close" and waiting.get(name):
            _close(stack, waiting, waiting[name][-1], place, number)
        elif kind == "close" and len(stack) == 1:  # opened in an earlier sentence: it holds all there is so far
            root.children = [Node(start, place, None, number, "left", name, children=root.children)]
        else:
            stack[-1].children.append(node)
    for node in stack[1:]:
        node.end, node.bound = end, "right"
    return root.children


def _close(stack: list[Node], waiting: dict[str, list[Node]], node: Node, place: int, number: int) -> None:
    while True:
        top = stack.pop()
        waiting[top.name].pop()
        top.end = place
        if top is node:
            node.closing = number
            return
        top.bound = "right"  # closed too late or never: it ends with what holds it


def partners(marks: Sequence[Mark]) -> list[int | None]:
    """For each mark the position of the one it is closed or opened by."""
    found: list[int | None] = [None] * len(marks)
    stack: list[int] = []
    waiting: dict[str, list[int]] = {}
    for position, mark in enumerate(marks):
        if mark.kind == "open":
            stack.append(position)
            waiting.setdefault(mark.name, []).append(position)
        elif mark.kind == "close" and waiting.get(mark.name):
            opened = waiting[mark.name][-1]
            while stack[-1] != opened:
                waiting[marks[stack.pop()].name].pop()
            waiting[marks[stack.pop()].name].pop()
            found[opened], found[position] = position, opened
    return found
