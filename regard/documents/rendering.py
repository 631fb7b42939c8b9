"""Renders a translation with the placeholders and markup of its source sentence."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from regard.documents.numeral_faults import numeral_warning
from regard.documents.passages import Node, Passage, ProtectedSpan
from regard.documents.placeholders import placeholders
from regard.documents.restore import Atom, RestoredText, required_spans, restore_protected
from regard.documents.text_spans import in_word
from regard.results import Prediction

_READ_BY_PROGRAMS = str.maketrans("", "", "%$&{}<>:@#＃._+-=/")
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


class Style(NamedTuple):
    """Functions that write text, and a mark by its number, for one kind of document."""

    text: Callable[[str], str]
    mark: Callable[[int], str]


def render_passage(passage: Passage, prediction: Prediction, style: Style) -> str:
    """Return the translation with every mark and protected span exactly once, whatever the model wrote."""
    found = _restored(passage, prediction)
    return style.text(prediction.text) if found is None else "".join(_Writer(passage, found, style).parts())


def numeral_check(passage: Passage, prediction: Prediction) -> str:
    """Return a line on the numerals that the rendered translation lost or has in addition; "" where all is well."""
    if prediction.reused:
        return ""
    wanted = required_spans(passage, prediction)
    kept = [each.body for each in wanted if each.numeral]
    if not kept and not any(map(str.isdigit, passage.text + prediction.text)):
        return ""
    found = _restored(passage, prediction)
    written = prediction.text if found is None else found.text
    for each in wanted:
        if not each.numeral:  # the digits of an address are no numbers
            written = written.replace(each.body, " ", 1)
    return numeral_warning(passage.text, written, kept=kept)


def _restored(passage: Passage, prediction: Prediction) -> RestoredText | None:
    """Return the translation with protected spans, or None where there are none, nor marks."""
    if prediction.reused and not passage.nodes:
        return None
    if not (passage.protected or passage.nodes or any(each.machine for each in placeholders(prediction.text))):
        return None
    found = restore_protected(passage, prediction)
    return found if prediction.reused or _intact(passage, found) else _isolated(found)


def _intact(passage: Passage, found: RestoredText) -> bool:
    """Return whether all protected spans can be found beside their new neighbours, and no new machine placeholder."""
    text = found.text
    there = placeholders(text)
    wanted = [(span.body, span.machine) for span in passage.protected if not (span.copied or span.numeral)]
    machine = Counter(text[each.start : each.end] for each in there if each.machine)
    return machine == Counter(body for body, read in wanted if read) and Counter(body for body, _ in wanted) <= Counter(
        text[each.start : each.end] for each in there
    )


def _isolated(found: RestoredText) -> RestoredText:
    """Return the text with spaces around protected spans, and without other characters that programs read."""
    plain = [atom._replace(body=atom.body.translate(_READ_BY_PROGRAMS)) for atom in found.atoms]
    atoms = [old if old.protected else new for old, new in zip(found.atoms, plain, strict=True)]
    gaps = [gap or " " for gap in found.gaps]
    for edge, atom in ((0, atoms[:1]), (-1, atoms[-1:])):
        if not (atom and atom[0].protected and found.gaps[edge]):
            gaps[edge] = found.gaps[edge]
    return RestoredText(atoms, gaps)


class _Writer:
    """Writes atoms from left to right; the space before each is delayed until the marks before it are written."""

    def __init__(self, passage: Passage, found: RestoredText, style: Style) -> None:
        self.passage, self.atoms, self.gaps, self.style = passage, found.atoms, found.gaps, style
        self.layout = Layout(found.atoms)
        self.position, self.owed = 0, True  # the next atom; whether the gap before it is still to be written
        self.spaced = True  # whether the output is empty or ends with a space

    def parts(self) -> Iterator[str]:
        """Yield all parts of the output: atoms, gaps and marks."""
        waiting = self._laid(self.passage.nodes, 0, len(self.atoms))
        while waiting:
            place, opening = waiting.pop()
            yield from self._advance(place.first if opening else place.last)
            empty = place.first == place.last
            if opening:
                yield from self._before(place.node, empty)
                yield from self._mark(place.node.opening)
                if place.node.protected is not None:
                    yield from self._protected(place.node.protected)
                waiting.append((place, False))
                waiting += self._laid(place.node.children, place.first, place.last)
            else:
                yield from self._mark(place.node.closing)
                self.spaced = False
                yield from self._behind(place.node, empty)
        yield from self._advance(len(self.atoms))
        yield from self._gap()

    def _laid(self, nodes: Sequence[Node], first: int, last: int) -> list[tuple[NodePlace, bool]]:
        """Return the children to open as a stack, the first one on top."""
        return [(place, True) for place in reversed(self.layout.children(nodes, first, last))]

    def _before(self, node: Node, empty: bool) -> Iterator[str]:
        """Yield the space before an element; an empty element has space around it as in the source."""
        if not empty or node.left:
            yield from self._gap()
        before = self.atoms[self.position - 1].body[-1:] if self.position > 0 else ""
        glued = node.protected is not None and in_word(before or " ")
        if empty and (node.left or glued) and not self.spaced:
            self.spaced = True
            yield " "

    def _behind(self, node: Node, empty: bool) -> Iterator[str]:
        if not empty or (self.owed and self.gaps[self.position]) or self.position == len(self.atoms):
            return
        following = self.atoms[self.position].body[:1]
        glued = node.protected is not None and following.isalnum() and (node.right or in_word(following))
        if glued or (node.left and node.right):
            self.spaced = True
            yield " "

    def _advance(self, to: int) -> Iterator[str]:
        while self.position < to:
            yield from self._gap()
            yield self.style.text(self.atoms[self.position].body)
            self.position, self.owed, self.spaced = self.position + 1, True, False

    def _protected(self, span: ProtectedSpan) -> Iterator[str]:
        cursor = 0
        for place, number in span.inside:
            yield self.style.text(span.body[cursor:place])
            yield self.style.mark(number)
            cursor = place
        yield self.style.text(span.body[cursor:])

    def _gap(self) -> Iterator[str]:
        gap = self.gaps[self.position] if self.owed else ""
        self.owed = False
        if gap:
            self.spaced = True
            yield self.style.text(gap)

    def _mark(self, number: int | None) -> Iterator[str]:
        if number is not None:
            yield self.style.mark(number)
