"""A run of text with marks in it (a paragraph of a page or of a file) → its sentences and what stands between them."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from regard.documents.passages import Cut, Held, Mark, Stretch, partners
from regard.documents.placeholders import placeholders
from regard.documents.segments import ask, bare, held
from regard.documents.sentences import sentences
from regard.documents.size_budget import Room
from regard.documents.words import Span, has_letters

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
    helds = held(text, placeholders(text, room)) if has_letters(text) else []
    pairs = partners(marks)
    cursor, first, position = 0, 0, 0  # character, mark and held from which on nothing is given out
    kept = [Span(each.start, each.end) for each in helds]
    for whole in sentences(text, language=language, limit=limit, kept=kept):
        room.sentence()
        span = bare(text, whole, kept)
        begin, end = _inside(span, marks, pairs, first)
        while position < len(helds) and helds[position].start < span.start:
            position += 1
        stop = position
        while stop < len(helds) and helds[stop].end <= span.end:
            stop += 1
        passage = ask(text, span.start, span.end, *_apart(helds[position:stop], marks, pairs, begin, end))
        if passage is not None:
            stretches.append(Stretch(untranslated(Span(cursor, span.start), marks[first:begin]), passage))
            cursor, first, position = span.end, end, stop
    return Cut(stretches, untranslated(Span(cursor, len(text)), marks[first:]))


def _apart(
    helds: Sequence[Held], marks: Sequence[Mark], pairs: Sequence[int | None], begin: int, end: int
) -> tuple[list[Held], list[Mark]]:
    """What is held and has no marks in it, and the marks from `begin` to `end`, of which some stand for the rest.

    A placeholder with whole elements in it is a point: so it stays in what it is in. Of elements that only begin or end
    in one the marks go before it, in their order, so that they are nested as they were.
    """
    free, whole, cursor = list[Mark](), list[Held](), begin
    for each in helds:
        first = bisect_right(marks, each.start, lo=cursor, hi=end, key=_place)
        last = bisect_left(marks, each.end, lo=first, hi=end, key=_place)
        closed = _closed(marks, pairs, first, last, (cursor, end, Span(each.start, each.end)))
        if closed is None:
            free += [*marks[cursor:first], *(mark._replace(place=each.start) for mark in marks[first:last])]
            cursor = last
        elif first < last:
            low, high = closed
            inside = tuple((mark.place - each.start, mark.number) for mark in marks[low:high])
            one = each._replace(inside=inside, shown=False)
            free += [*marks[cursor:low], Mark(each.start, "point", "", 0, held=one)]
            cursor = high
            continue
        whole.append(each)
    return whole, [*free, *marks[cursor:end]]


def _closed(
    marks: Sequence[Mark], pairs: Sequence[int | None], first: int, last: int, within: tuple[int, int, Span]
) -> tuple[int, int] | None:
    """The marks from `first` to `last` and all between them and their partners; None where one of these is not `within`
    some positions and places, or is missing.
    """
    begin, end, (start, stop) = within
    low, high, waiting = first, last, list(range(first, last))
    while waiting:
        position = waiting.pop()
        partner = position if marks[position].kind == "point" else pairs[position]
        if partner is None or not (begin <= partner < end and start <= marks[partner].place <= stop):
            return None
        waiting += [*range(partner, low), *range(high, partner + 1)]
        low, high = min(low, partner), max(high, partner + 1)
    while (
        begin < low
        and high < end
        and pairs[low - 1] == high
        and (marks[low - 1].place, marks[high].place) == (start, stop)
    ):
        low, high = low - 1, high + 1  # what is around all of it
    return low, high


def _place(mark: Mark) -> int:
    return mark.place


def _inside(span: Span, marks: Sequence[Mark], pairs: Sequence[int | None], first: int) -> tuple[int, int]:
    """The marks of a sentence, from a position up to another."""
    begin = bisect_left(marks, span.start, lo=first, key=_place)
    end = bisect_left(marks, span.end + 1, lo=begin, key=_place)

    def within(position: int) -> bool:
        """Whether the partner is neither missing, nor elsewhere, nor at an edge."""
        partner = pairs[position]
        return partner is not None and span.start < marks[partner].place < span.end

    while begin < end and marks[begin].place == span.start and not (marks[begin].kind == "open" and within(begin)):
        begin += 1
    while begin < end and marks[end - 1].place == span.end and not (marks[end - 1].kind == "close" and within(end - 1)):
        end -= 1
    return begin, end
