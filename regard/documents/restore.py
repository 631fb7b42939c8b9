"""Restores placeholders in a translation: finds those that the model wrote and inserts the others."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from regard.documents.passages import Passage, ProtectedSpan
from regard.documents.placeholders import placeholders
from regard.documents.word_origins import word_origins
from regard.documents.words import TextSpan, in_word, word_spans
from regard.results import Prediction


class Atom(NamedTuple):
    """A word or a protected span of a translation; `origin` is the position in the source it comes from."""

    body: str
    origin: int | None
    protected: bool = False


class RestoredText(NamedTuple):
    """A translation in pieces: gaps[i] comes before atoms[i], the last gap at the end."""

    atoms: list[Atom]
    gaps: list[str]


class _Placed(NamedTuple):
    """Characters of the translation to replace with a protected span, or to delete (None)."""

    start: int
    end: int
    protected: ProtectedSpan | None


def restore_protected(passage: Passage, prediction: Prediction) -> RestoredText:
    """Return the translation with every protected span: where the model wrote it, else where it is aligned to."""
    text, source_words = prediction.text, word_spans(passage.text)
    target_words = word_spans(text)
    found = word_origins(passage.text, source_words, target_words, prediction)
    places = [None if word is None else passage.places[source_words[word].start] for word in found]
    placed = _Placer(passage, text, target_words, places).all() if passage.protected or placeholders(text) else []
    return _split(text, placed, target_words, places)


class _Placer:
    """Finds a place for each protected span, no two in the same one."""

    def __init__(self, passage: Passage, text: str, words: Sequence[TextSpan], places: Sequence[int | None]) -> None:
        self.passage, self.text, self.words = passage, text, words
        self.ends = [0] * len(text)  # end of the span that has taken each character
        self.known = sorted((place, word) for word, place in enumerate(places) if place is not None)

    def all(self) -> list[_Placed]:
        """Return all replacements in target order."""
        placed, missing = [], []
        whole = defaultdict(list)
        found = placeholders(self.text)
        for each in reversed(found):
            whole[self.text[each.start : each.end]].append(TextSpan(each.start, each.end))
        searched: dict[str, int] = defaultdict(int)
        for wanted in sorted(self.passage.protected, key=lambda wanted: wanted.start - wanted.end):
            span = self._whole(whole[wanted.body]) or self._anywhere(wanted.body, searched)
            if span is None:
                missing.append(wanted)
            else:
                placed.append(self._take(span, wanted))
        placed += [self._take(self._aligned(wanted), wanted) for wanted in sorted(missing, key=lambda each: each.start)]
        invented = [each for each in found if each.machine and not any(self.ends[each.start : each.end])]
        placed += [_Placed(each.start, each.end, None) for each in invented]
        return sorted(placed, key=lambda each: (each.start, each.end, each.protected.start if each.protected else -1))

    def _take(self, span: TextSpan, protected: ProtectedSpan) -> _Placed:
        self.ends[span.start : span.end] = [span.end] * (span.end - span.start)
        return _Placed(span.start, span.end, protected)

    def _whole(self, spans: list[TextSpan]) -> TextSpan | None:
        """Return the next free one of these placeholders."""
        while spans:
            span = spans.pop()
            if not any(self.ends[span.start : span.end]):
                return span
        return None

    def _anywhere(self, shown: str, searched: dict[str, int]) -> TextSpan | None:
        """Return the next free place with this text that is not part of a longer word or number."""
        start = self.text.find(shown, searched[shown])
        while start >= 0:
            end = searched[shown] = start + len(shown)
            if not any(self.ends[start:end]) and not self._sticks(start) and not self._sticks(end):
                return TextSpan(start, end)
            start = self.text.find(shown, end)
        searched[shown] = len(self.text)
        return None

    def _sticks(self, place: int) -> bool:
        before, after = self.text[max(0, place - 1) : place], self.text[place : place + 1]
        number = (after.isdigit() and before in (".", ",")) or (before.isdigit() and after in (".", ","))
        return bool(before and after) and (number or (in_word(before) and in_word(after)))

    def _aligned(self, protected: ProtectedSpan) -> TextSpan:
        """Return the longest run of words aligned to it, else the place after the nearest earlier aligned word."""
        first, last = bisect_left(self.known, (protected.start, -1)), bisect_left(self.known, (protected.end, -1))
        best: list[int] = []
        run: list[int] = []
        for word in sorted(word for _, word in self.known[first:last]):
            start, end = self.words[word]
            if any(self.ends[start:end]):
                continue
            run = [*run, word] if run and run[-1] == word - 1 else [word]
            best = max(best, run, key=len)
        if best:
            return TextSpan(self.words[best[0]].start, self.words[best[-1]].end)
        return self._between(first, last)

    def _between(self, first: int, last: int) -> TextSpan:
        if first:
            place = self.words[self.known[first - 1][1]].end
        elif last < len(self.known):
            place = self.words[self.known[last][1]].start
        else:
            place = len(self.text)
        if 0 < place < len(self.text) and self.ends[place] and self.ends[place] == self.ends[place - 1]:
            place = self.ends[place]
        return TextSpan(place, place)


def _split(
    text: str, placed: Sequence[_Placed], words: Sequence[TextSpan], places: Sequence[int | None]
) -> RestoredText:
    atoms: list[Atom] = []
    gaps = [""]
    cursor, word = 0, 0
    for start, end, protected in [*placed, _Placed(len(text), len(text), None)]:
        while word < len(words) and words[word].start < start:  # whole words, or what is left of them
            begin, stop = max(cursor, words[word].start), min(start, words[word].end)
            if begin < stop:
                gaps[-1] += text[cursor:begin]
                atoms.append(Atom(text[begin:stop], places[word]))
                gaps.append("")
                cursor = stop
            if words[word].end > start:
                break
            word += 1
        gaps[-1] += text[cursor:start]
        cursor = max(cursor, end)
        if protected is not None:
            _pad(gaps, protected.left and bool(atoms))
            atoms.append(Atom(protected.body, protected.start, True))
            gaps.append(" " if protected.right and _word_follows(text, end) else "")
    return RestoredText(atoms, gaps)


def _pad(gaps: list[str], wanted: bool) -> None:
    if wanted and not gaps[-1]:
        gaps[-1] = " "


def _word_follows(text: str, place: int) -> bool:
    return place < len(text) and in_word(text[place])
