"""Splits text with marks in it (a paragraph of a page or of a file) into sentences."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence

from regard.documents.passages import Mark, MarkKind, ProtectedSpan, partners
from regard.documents.placeholders import placeholders
from regard.documents.segments import Segment, SplitText, make_passage, protected_spans, trim_signs
from regard.documents.sentences import LIMIT, sentences
from regard.documents.size_budget import SizeBudget
from regard.documents.text_spans import TextSpan, has_letters

_WHITE = "\t\n\f\r"  # spaces, in a language whose line ends part nothing
Untranslated = Callable[[TextSpan, Sequence[Mark]], str]  # (span, its marks) → as it was written


class MarkedText:
    """A text with marks, collected from a markup language until it is split."""

    def __init__(self, sources: list[str] | None = None) -> None:
        self.sources = [] if sources is None else sources  # of marks, by number
        self.characters: list[tuple[str, str]] = []  # as they are, and as they are written
        self.marks: list[Mark] = []

    def add(self, characters: Iterable[tuple[str, str]]) -> None:
        """Go on with characters, each as it is and as it is written."""
        self.characters += characters

    def mark(self, kind: MarkKind, name: str, source: str) -> None:
        """Set a mark after the text so far."""
        self.marks.append(Mark(len(self.characters), kind, name, len(self.sources)))
        self.sources.append(source)

    def split(self, *, language: str | None, limit: int = LIMIT, budget: SizeBudget, lines: bool = True) -> SplitText:
        """Return it split into sentences, as `split_text`; `lines`: line ends part sentences."""
        text = "".join(one if lines or one not in _WHITE else " " for one, _ in self.characters)
        return split_text(text, self.marks, self._as_written, language=language, limit=limit, budget=budget)

    def _as_written(self, span: TextSpan, marks: Sequence[Mark]) -> str:
        parts, cursor = list[str](), span.start
        for mark in marks:
            parts += [*(written for _, written in self.characters[cursor : mark.place]), self.sources[mark.number]]
            cursor = mark.place
        return "".join([*parts, *(written for _, written in self.characters[cursor : span.end])])


def split_text(
    text: str,
    marks: Sequence[Mark],
    untranslated: Untranslated,
    *,
    language: str | None,
    limit: int,
    budget: SizeBudget,
) -> SplitText:
    """Return the passages and, written by `untranslated`, the text between them; each mark is in exactly one.

    A mark at the edge of a sentence stays outside it, unless its partner is further inside. Raises TooLarge if the
    budget is exceeded.
    """
    segments = list[Segment]()
    protected = protected_spans(text, placeholders(text, budget)) if has_letters(text) else []
    pairs = partners(marks)
    cursor, first, position = 0, 0, 0  # the next character, mark and protected span
    kept = [TextSpan(each.start, each.end) for each in protected]
    for whole in sentences(text, language=language, limit=limit, kept=kept):
        budget.count_sentence()
        span = trim_signs(text, whole, kept)
        begin, end = _inside(span, marks, pairs, first)
        while position < len(protected) and protected[position].start < span.start:
            position += 1
        stop = position
        while stop < len(protected) and protected[stop].end <= span.end:
            stop += 1
        merged = _merge(protected[position:stop], marks, pairs, begin, end)
        passage = make_passage(text, span.start, span.end, *merged, language=language)
        if passage is not None:
            segments.append(Segment(untranslated(TextSpan(cursor, span.start), marks[first:begin]), passage))
            cursor, first, position = span.end, end, stop
    return SplitText(segments, untranslated(TextSpan(cursor, len(text)), marks[first:]))


def _merge(
    protected: Sequence[ProtectedSpan], marks: Sequence[Mark], pairs: Sequence[int | None], begin: int, end: int
) -> tuple[list[ProtectedSpan], list[Mark]]:
    """Return the protected spans without marks in them, and marks `begin` to `end` with points for the other spans.

    A placeholder that contains whole elements becomes a point, so it stays inside its parents. Marks of elements that
    only begin or end in a placeholder move before it, in order, so the nesting is kept.
    """
    free, whole, cursor = list[Mark](), list[ProtectedSpan](), begin
    for each in protected:
        first = bisect_right(marks, each.start, lo=cursor, hi=end, key=_place)
        last = bisect_left(marks, each.end, lo=first, hi=end, key=_place)
        closed = _closed(marks, pairs, first, last, (cursor, end, TextSpan(each.start, each.end)))
        if closed is None:
            free += [*marks[cursor:first], *(mark._replace(place=each.start) for mark in marks[first:last])]
            cursor = last
        elif first < last:
            low, high = closed
            inside = tuple((mark.place - each.start, mark.number) for mark in marks[low:high])
            one = each._replace(inside=inside, shown="")
            free += [*marks[cursor:low], Mark(each.start, "point", "", 0, protected=one)]
            cursor = high
            continue
        whole.append(each)
    return whole, [*free, *marks[cursor:end]]


def _closed(
    marks: Sequence[Mark], pairs: Sequence[int | None], first: int, last: int, within: tuple[int, int, TextSpan]
) -> tuple[int, int] | None:
    """Return the smallest range of marks that contains `first` to `last` and the partners of all its marks.

    None if a partner is missing or lies outside `within`: (first index, last index, span).
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
        low, high = low - 1, high + 1  # elements around all of it
    return low, high


def _place(mark: Mark) -> int:
    return mark.place


def _inside(span: TextSpan, marks: Sequence[Mark], pairs: Sequence[int | None], first: int) -> tuple[int, int]:
    """Return the range of marks that belong to a sentence."""
    begin = bisect_left(marks, span.start, lo=first, key=_place)
    end = bisect_left(marks, span.end + 1, lo=begin, key=_place)

    def within(position: int) -> bool:
        """Return whether the partner lies inside the sentence and not at an edge."""
        partner = pairs[position]
        return partner is not None and span.start < marks[partner].place < span.end

    while begin < end and marks[begin].place == span.start and not (marks[begin].kind == "open" and within(begin)):
        begin += 1
    while begin < end and marks[end - 1].place == span.end and not (marks[end - 1].kind == "close" and within(end - 1)):
        end -= 1
    return begin, end
