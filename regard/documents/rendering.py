"""A passage and its translation → what is written in the place of the passage."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from regard.documents.layout import Layout, Place
from regard.documents.passages import Held, Node, Passage
from regard.documents.placeholders import placeholders
from regard.documents.restore import Pieces, pieces
from regard.documents.words import joins
from regard.results import Prediction

_READ_BY_PROGRAMS = str.maketrans("", "", "%$&{}<>:@#＃._+-=/")


class Style(NamedTuple):
    """How a kind of document writes a text, and a mark by its number."""

    text: Callable[[str], str]
    mark: Callable[[int], str]


def render(passage: Passage, prediction: Prediction, style: Style) -> str:
    """Every mark and everything held exactly once, whatever the model wrote."""
    found = pieces(passage, prediction)
    if not _whole(passage, found):
        found = _apart(found)
    return "".join(_Writing(passage, found, style).parts())


def _whole(passage: Passage, found: Pieces) -> bool:
    """Whether what is held reads as itself beside its new neighbours, and no other placeholder came into being."""
    text = "".join(gap + body for gap, body in zip(found.gaps, [*(atom.body for atom in found.atoms), ""], strict=True))
    there = placeholders(text)
    wanted = [(held.body, held.machine) for held in passage.held]
    machine = Counter(text[each.start : each.end] for each in there if each.machine)
    return machine == Counter(body for body, read in wanted if read) and Counter(body for body, _ in wanted) <= Counter(
        text[each.start : each.end] for each in there
    )


def _apart(found: Pieces) -> Pieces:
    """The same with spaces around what is held and nothing else that a program could read."""
    atoms = [atom if atom.held else atom._replace(body=atom.body.translate(_READ_BY_PROGRAMS)) for atom in found.atoms]
    gaps = [gap or " " for gap in found.gaps]
    for edge, atom in ((0, atoms[:1]), (-1, atoms[-1:])):
        if not (atom and atom[0].held and found.gaps[edge]):
            gaps[edge] = found.gaps[edge]
    return Pieces(atoms, gaps)


class _Writing:
    """Writes atoms from left to right, with the space before the next one held back until it is due."""

    def __init__(self, passage: Passage, found: Pieces, style: Style) -> None:
        self.passage, self.atoms, self.gaps, self.style = passage, found.atoms, found.gaps, style
        self.layout = Layout(found.atoms)
        self.position, self.owed = 0, True  # the next atom; whether the gap before it is still to be written
        self.spaced = True  # whether there is space, or nothing, before the place of writing

    def parts(self) -> Iterator[str]:
        """Opening and closing marks around the atoms between them."""
        waiting = self._laid(self.passage.nodes, 0, len(self.atoms))
        while waiting:
            place, opening = waiting.pop()
            yield from self._advance(place.first if opening else place.last)
            empty = place.first == place.last
            if opening:
                yield from self._before(place.node, empty)
                yield from self._mark(place.node.opening)
                if place.node.held is not None:
                    yield from self._held(place.node.held)
                waiting.append((place, False))
                waiting += self._laid(place.node.children, place.first, place.last)
            else:
                yield from self._mark(place.node.closing)
                self.spaced = False
                yield from self._behind(place.node, empty)
        yield from self._advance(len(self.atoms))
        yield from self._gap()

    def _laid(self, nodes: Sequence[Node], first: int, last: int) -> list[tuple[Place, bool]]:
        """The children to be opened, the first of them on top."""
        return [(place, True) for place in reversed(self.layout.children(nodes, first, last))]

    def _before(self, node: Node, empty: bool) -> Iterator[str]:
        """The space outside of an element of words; around an empty one there is space as in the source."""
        if not empty or node.left:
            yield from self._gap()
        glued = node.held is not None and self.position > 0 and joins(self.atoms[self.position - 1].body[-1:] or " ")
        if empty and (node.left or glued) and not self.spaced:
            self.spaced = True
            yield " "

    def _behind(self, node: Node, empty: bool) -> Iterator[str]:
        if not empty or (self.owed and self.gaps[self.position]) or self.position == len(self.atoms):
            return
        following = self.atoms[self.position].body[:1]
        glued = node.held is not None and following.isalnum() and (node.right or joins(following))
        if glued or (node.left and node.right):
            self.spaced = True
            yield " "

    def _advance(self, to: int) -> Iterator[str]:
        while self.position < to:
            yield from self._gap()
            yield self.style.text(self.atoms[self.position].body)
            self.position, self.owed, self.spaced = self.position + 1, True, False

    def _held(self, held: Held) -> Iterator[str]:
        cursor = 0
        for place, number in held.inside:
            yield self.style.text(held.body[cursor:place])
            yield self.style.mark(number)
            cursor = place
        yield self.style.text(held.body[cursor:])

    def _gap(self) -> Iterator[str]:
        gap = self.gaps[self.position] if self.owed else ""
        self.owed = False
        if gap:
            self.spaced = True
            yield self.style.text(gap)

    def _mark(self, number: int | None) -> Iterator[str]:
        if number is not None:
            yield self.style.mark(number)
