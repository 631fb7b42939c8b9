"""Passage: a sentence as the model gets it, with the placeholders and marks (tags, line breaks …) to restore."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

MarkKind = Literal["open", "close", "point"]


class ProtectedSpan(NamedTuple):
    """A span of the text that the translation must contain as `body`, exactly once."""

    start: int
    end: int
    body: str
    machine: bool = False  # read by programs
    shown: str = ""  # what the model gets in its place; "": nothing
    left: bool = False  # white space before it
    right: bool = False  # white space after it
    inside: tuple[tuple[int, int], ...] = ()  # marks in it: (offset, number)
    copied: bool = False  # no placeholder: words that the model does not know
    numeral: bool = False


class Mark(NamedTuple):
    """A tag at a position of the text. Opening and closing marks are paired by `name`; a point has no partner."""

    place: int
    kind: MarkKind
    name: str
    number: int
    left: bool = False  # white space before it
    right: bool = False  # white space after it
    protected: ProtectedSpan | None = None  # of a point: the placeholder, with marks in it, that it stands for


@dataclass
class Node:
    """An element from `start` to `end`, or a point. A `bound` element goes on past that end of the sentence."""

    start: int
    end: int
    opening: int | None
    closing: int | None = None
    bound: Literal["", "left", "right"] = ""
    name: str = ""
    left: bool = False
    right: bool = False
    protected: ProtectedSpan | None = None
    children: list["Node"] = field(default_factory=list)


@dataclass(frozen=True)
class Passage:
    """A sentence to translate. Positions of protected spans and nodes count from the start of the whole text."""

    text: str  # as the model gets it
    places: Sequence[int]  # of its characters, in the whole text
    protected: tuple[ProtectedSpan, ...] = ()
    nodes: tuple[Node, ...] = ()
    language: str | None = None  # code, if known

    @property
    def numerals(self) -> list[ProtectedSpan]:
        """Numerals that the translation must contain whole."""
        return [each for each in self.protected if each.numeral]

    @property
    def original(self) -> str:
        """The sentence as it was written, without markup; "" where a protected span has markup in it."""
        if any(_holds_protected(node) for node in self.nodes):
            return ""
        parts, cursor = list[str](), 0
        for each in self.protected:
            first, behind = bisect_left(self.places, each.start), bisect_left(self.places, each.end)
            parts += [self.text[cursor:first], " " * each.left, each.body, " " * each.right]
            cursor = behind
        return " ".join("".join([*parts, self.text[cursor:]]).split())

    @property
    def explain(self) -> bool:
        """Return whether an alignment helps to place protected spans and nodes."""
        return bool(self.protected or self.nodes)


def _holds_protected(node: Node) -> bool:
    return node.protected is not None or any(map(_holds_protected, node.children))


def build_tree(marks: Sequence[Mark], start: int, end: int) -> list[Node]:
    """Return the marks (in order) as nodes. An element without a partner goes on past the sentence's end."""
    root = Node(start, end, None)
    stack, waiting = [root], dict[str, list[Node]]()
    for place, kind, name, number, left, right, protected in marks:
        node = Node(place, place, None if protected else number, name=name, left=left, right=right, protected=protected)
        if kind == "open":
            stack[-1].children.append(node)
            stack.append(node)
            waiting.setdefault(name, []).append(node)
        elif kind == "close" and waiting.get(name):
            _close(stack, waiting, waiting[name][-1], place, number)
        elif kind == "close" and len(stack) == 1:  # opened in an earlier sentence: it contains all nodes so far
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
        top.bound = "right"  # closed too late or never: it ends with its parent


def partners(marks: Sequence[Mark]) -> list[int | None]:
    """Return for each mark the index of its closing or opening partner, or None."""
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
