"""What must be held, found in a translation or put into it: a translation cut into words and held ones."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from regard.documents.passages import Held, Passage
from regard.documents.placeholders import placeholders
from regard.documents.word_origins import origins
from regard.documents.words import Span, joins, words
from regard.results import Prediction


class Atom(NamedTuple):
    """A word or a held stretch of a translation; `origin` is the place in the source that it came from."""

    body: str
    origin: int | None
    held: bool = False


class Pieces(NamedTuple):
    """A translation cut up: gaps[i] stands before atoms[i], the last gap ends it."""

    atoms: list[Atom]
    gaps: list[str]


class _Placed(NamedTuple):
    """A stretch of the translation that a held one takes the place of; None: it is dropped."""

    start: int
    end: int
    held: Held | None


def pieces(passage: Passage, prediction: Prediction) -> Pieces:
    """The translation with everything held in its place: where the model wrote it, else where the model looked."""
    text, source_words = prediction.text, words(passage.text)
    target_words = words(text)
    found = origins(passage.text, source_words, target_words, prediction)
    places = [None if word is None else passage.places[source_words[word].start] for word in found]
    placed = _Placing(passage, text, target_words, places).all() if passage.held or placeholders(text) else []
    return _cut(text, placed, target_words, places)


class _Placing:
    """Finds each held stretch its place, no two in the same one."""

    def __init__(self, passage: Passage, text: str, target_words: Sequence[Span], places: Sequence[int | None]) -> None:
        self.passage, self.text, self.words = passage, text, target_words
        self.ends = [0] * len(text)  # of the stretch that a character is taken by
        self.known = sorted((place, word) for word, place in enumerate(places) if place is not None)

    def all(self) -> list[_Placed]:
        """In the order of the translation."""
        placed, missing = [], []
        whole = defaultdict(list)
        found = placeholders(self.text)
        for each in reversed(found):
            whole[self.text[each.start : each.end]].append(Span(each.start, each.end))
        searched: dict[str, int] = defaultdict(int)
        for held in sorted(self.passage.held, key=lambda held: held.start - held.end):
            span = self._whole(whole[held.body]) or self._anywhere(held.body, searched)
            if span is None:
                missing.append(held)
            else:
                placed.append(self._take(span, held))
        placed += [self._take(self._aligned(held), held) for held in sorted(missing, key=lambda held: held.start)]
        strangers = [each for each in found if each.machine and not any(self.ends[each.start : each.end])]
        placed += [_Placed(each.start, each.end, None) for each in strangers]
        return sorted(placed, key=lambda each: (each.start, each.end, each.held.start if each.held else -1))

    def _take(self, span: Span, held: Held) -> _Placed:
        self.ends[span.start : span.end] = [span.end] * (span.end - span.start)
        return _Placed(span.start, span.end, held)

    def _whole(self, spans: list[Span]) -> Span | None:
        """The next of the placeholders that read like this; what is taken is passed over."""
        while spans:
            span = spans.pop()
            if not any(self.ends[span.start : span.end]):
                return span
        return None

    def _anywhere(self, shown: str, searched: dict[str, int]) -> Span | None:
        """The next place that reads like this and is no part of a longer word or number."""
        start = self.text.find(shown, searched[shown])
        while start >= 0:
            end = searched[shown] = start + len(shown)
            if not any(self.ends[start:end]) and not self._sticks(start) and not self._sticks(end):
                return Span(start, end)
            start = self.text.find(shown, end)
        searched[shown] = len(self.text)
        return None

    def _sticks(self, place: int) -> bool:
        before, after = self.text[max(0, place - 1) : place], self.text[place : place + 1]
        number = (after.isdigit() and before in (".", ",")) or (before.isdigit() and after in (".", ","))
        return bool(before and after) and (number or (joins(before) and joins(after)))

    def _aligned(self, held: Held) -> Span:
        """The longest run of words that came from it, else the place behind the translation of what stands before."""
        first, last = bisect_left(self.known, (held.start, -1)), bisect_left(self.known, (held.end, -1))
        best: list[int] = []
        run: list[int] = []
        for word in sorted(word for _, word in self.known[first:last]):
            start, end = self.words[word]
            if any(self.ends[start:end]):
                continue
            run = [*run, word] if run and run[-1] == word - 1 else [word]
            best = max(best, run, key=len)
        if best:
            return Span(self.words[best[0]].start, self.words[best[-1]].end)
        return self._between(first, last)

    def _between(self, first: int, last: int) -> Span:
        if first:
            place = self.words[self.known[first - 1][1]].end
        elif last < len(self.known):
            place = self.words[self.known[last][1]].start
        else:
            place = len(self.text)
        if 0 < place < len(self.text) and self.ends[place] and self.ends[place] == self.ends[place - 1]:
            place = self.ends[place]
        return Span(place, place)


def _cut(text: str, placed: Sequence[_Placed], target_words: Sequence[Span], places: Sequence[int | None]) -> Pieces:
    atoms: list[Atom] = []
    gaps = [""]
    cursor, word = 0, 0
    for start, end, held in [*placed, _Placed(len(text), len(text), None)]:
        while word < len(target_words) and target_words[word].start < start:  # whole words, or what is left of them
            begin, stop = max(cursor, target_words[word].start), min(start, target_words[word].end)
            if begin < stop:
                gaps[-1] += text[cursor:begin]
                atoms.append(Atom(text[begin:stop], places[word]))
                gaps.append("")
                cursor = stop
            if target_words[word].end > start:
                break
            word += 1
        gaps[-1] += text[cursor:start]
        cursor = max(cursor, end)
        if held is not None:
            _pad(gaps, held.left and bool(atoms))
            atoms.append(Atom(held.body, held.start, True))
            gaps.append(" " if held.right and _word_follows(text, end) else "")
    return Pieces(atoms, gaps)


def _pad(gaps: list[str], wanted: bool) -> None:
    if wanted and not gaps[-1]:
        gaps[-1] = " "


def _word_follows(text: str, place: int) -> bool:
    return place < len(text) and joins(text[place])
