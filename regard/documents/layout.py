"""Places elements in a translation: each around the words translated from it, nested as in the source."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from regard.documents.passages import Node
from regard.documents.restore import Atom

_UNKNOWN = -0.1  # value of a word of unknown origin: an element includes it only between two of its own words


class NodePlace(NamedTuple):
    """A node around atoms `first` to `last` (exclusive); a point is around none."""

    first: int
    last: int
    order: int  # among its siblings in the source
    node: Node


class Layout:
    """Places the children of a node among the atoms of that node."""

    def __init__(self, atoms: Sequence[Atom]) -> None:
        self.origins = [atom.origin for atom in atoms]
        self.known = sorted((origin, atom) for atom, origin in enumerate(self.origins) if origin is not None)

    def children(self, nodes: Sequence[Node], first: int, last: int) -> list[NodePlace]:
        """Return the nodes' places within atoms `first` to `last`, in target order; siblings do not overlap."""
        placed: list[NodePlace] = []
        rest = list(enumerate(nodes))
        if rest and rest[0][1].bound == "left":
            split = self._split(rest[0][1], first, last, left=True)
            placed.append(NodePlace(first, split, *rest.pop(0)))
            first = split
        if rest and rest[-1][1].bound == "right":
            split = self._split(rest[-1][1], first, last, left=False)
            ending = [NodePlace(split, last, *rest.pop())]
            last = split
        else:
            ending = []
        free = self._free(rest, first, last)
        return [*placed, *sorted(free, key=lambda place: place[:3]), *ending]

    def _split(self, node: Node, first: int, last: int, *, left: bool) -> int:
        """Return the split with most of the node's words on its side; an empty element stays at its end."""
        value, best, place = 0, 0, first if left else last
        steps = range(first, last) if left else range(last - 1, first - 1, -1)
        for atom in steps:
            value += 1 if self._inside(node, atom) else -1
            if value > best:
                best, place = value, atom + 1 if left else atom
        return place

    def _inside(self, node: Node, atom: int) -> bool:
        origin = self.origins[atom]
        return origin is not None and node.start <= origin < node.end

    def _free(self, nodes: Sequence[tuple[int, Node]], first: int, last: int) -> list[NodePlace]:
        placed, points = [], []
        ends = [0] * (last - first)  # end of the element that has taken each atom
        for order, node in sorted(nodes, key=lambda each: each[1].start - each[1].end):
            found = self._best(node, first, last, ends) if node.start < node.end else None
            if found is None:
                points.append((order, node))
                continue
            start, end = found
            ends[start - first : end - first] = [end] * (end - start)
            placed.append(NodePlace(start, end, order, node))
        for order, node in points:
            gap = min(max(self._gap(node.start), first), last)
            if first < gap < last and ends[gap - first] == ends[gap - first - 1]:
                gap = ends[gap - first] or gap
            placed.append(NodePlace(gap, gap, order, node))
        return placed

    def _best(self, node: Node, first: int, last: int, ends: Sequence[int]) -> tuple[int, int] | None:
        """Return the range of free atoms with the largest surplus of the node's words over others."""
        best, value, start, found = 0.0, 0.0, first, None
        for atom in range(first, last):
            if ends[atom - first]:
                value, start = 0.0, atom + 1
                continue
            value += 1 if self._inside(node, atom) else _UNKNOWN if self.origins[atom] is None else -1
            if value <= 0:
                value, start = 0.0, atom + 1
            elif value > best:
                best, found = value, (start, atom + 1)
        return found

    def _gap(self, place: int) -> int:
        """Return the gap before the word translated from `place`, else after that of the nearest earlier one."""
        later = bisect_left(self.known, (place, -1))
        if later < len(self.known) and self.known[later][0] == place:
            return self.known[later][1]
        if later:
            return self.known[later - 1][1] + 1
        return self.known[later][1] if later < len(self.known) else 0
