"""A run of text with marks in it (a paragraph of a page or of a file) → its sentences and what stands between them."""

from bisect import bisect_left
from collections.abc import Callable, Sequence

from regard.serve.texts.asking import ask, held
from regard.serve.texts.passages import Cut, Held, Mark, Stretch, partners
from regard.serve.texts.placeholders import placeholders
from regard.serve.texts.room import Room
from regard.serve.texts.sentences import sentences
from regard.serve.texts.words import Span, has_letters

Untranslated = Callable[[Span, Sequence[Mark]], str]  # characters and the marks among them, as they were written


def cut(
    text: str,
    marks: Sequence[Mark],
    untranslated: Untranslated,
    *,
    language: str | None,
    limit: int,
    room: Room,
) -> Cut:
    """Passages and, as `untranslated` writes it, what is between; every mark is in exactly one of these.

    A mark at the edge of a sentence stays outside of it, unless it pairs with one further inside. Raises TooMuch when
    there is no room.
    """
    stretches = list[Stretch]()
    helds = _held(text, marks, room) if has_letters(text) else []
    pairs = partners(marks)
    cursor, first, position = 0, 0, 0  # character, mark and held from which on nothing is given out
    for span in sentences(text, language=language, limit=limit, kept=[Span(each.start, each.end) for each in helds]):
        room.sentence()
        begin, end = _inside(span, marks, pairs, first)
        while position < len(helds) and helds[position].start < span.start:
            position += 1
        stop = position
        while stop < len(helds) and helds[stop].end <= span.end:
            stop += 1
        passage = ask(text, span.start, span.end, helds[position:stop], marks[begin:end])
        if passage is not None:
            stretches.append(Stretch(untranslated(Span(cursor, span.start), marks[first:begin]), passage))
            cursor, first, position = span.end, end, stop
    return Cut(stretches, untranslated(Span(cursor, len(text)), marks[first:]))


def _held(text: str, marks: Sequence[Mark], room: Room) -> list[Held]:
    """The placeholders that have no mark in them."""
    parted = bytearray(len(text) + 1)
    for mark in marks:
        parted[mark.place] = 1
    return held(text, [each for each in placeholders(text, room) if not any(parted[each.start + 1 : each.end])])


def _inside(span: Span, marks: Sequence[Mark], pairs: Sequence[int | None], first: int) -> tuple[int, int]:
    """The marks of a sentence, from a position up to another."""
    begin = bisect_left(marks, span.start, lo=first, key=lambda mark: mark.place)
    end = bisect_left(marks, span.end + 1, lo=begin, key=lambda mark: mark.place)

    def within(position: int) -> bool:
        """Whether the partner is neither missing, nor elsewhere, nor at an edge."""
        partner = pairs[position]
        return partner is not None and span.start < marks[partner].place < span.end

    while begin < end and marks[begin].place == span.start and not (marks[begin].kind == "open" and within(begin)):
        begin += 1
    while begin < end and marks[end - 1].place == span.end and not (marks[end - 1].kind == "close" and within(end - 1)):
        end -= 1
    return begin, end
