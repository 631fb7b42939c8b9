"""Renders a translation with the placeholders and markup of its source sentence."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from regard.documents.layout import Layout, NodePlace
from regard.documents.numeral_faults import numeral_warning
from regard.documents.passages import Node, Passage, ProtectedSpan
from regard.documents.placeholders import placeholders
from regard.documents.restore import RestoredText, restore_protected, wanted_spans
from regard.documents.words import in_word
from regard.results import Prediction

_READ_BY_PROGRAMS = str.maketrans("", "", "%$&{}<>:@#＃._+-=/")


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
    kept = [each.body for each in wanted_spans(passage, prediction) if each.numeral]
    if not kept and not any(map(str.isdigit, passage.text + prediction.text)):
        return ""
    found = _restored(passage, prediction)
    return numeral_warning(passage.text, prediction.text if found is None else found.text, kept=kept)


def _restored(passage: Passage, prediction: Prediction) -> RestoredText | None:
    """Return the translation with protected spans, or None where there are none, nor marks."""
    if not (passage.protected or passage.nodes or any(each.machine for each in placeholders(prediction.text))):
        return None
    found = restore_protected(passage, prediction)
    return found if _intact(passage, found) else _isolated(found)


def _intact(passage: Passage, found: RestoredText) -> bool:
    """Whether all protected spans can be found beside their new neighbours, and no new machine placeholder."""
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
