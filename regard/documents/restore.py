"""Restores placeholders in a translation: finds those that the model wrote and inserts the others."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from regard.documents.numeral_faults import (
    digits_of_words,
    knows_number_words,
    new_numbers,
    sticks_before,
    sticks_behind,
)
from regard.documents.passages import Passage, ProtectedSpan
from regard.documents.placeholders import placeholders
from regard.documents.text_spans import TextSpan, in_word, unspaced, word_origins, word_spans
from regard.results import Prediction

_JOINS = (".", ",", ":", "/")  # between the digits of one number


class Atom(NamedTuple):
    """A word or a protected span of a translation; `origin` is the position in the source it comes from."""

    body: str
    origin: int | None
    protected: bool = False


class RestoredText(NamedTuple):
    """A translation in pieces: gaps[i] comes before atoms[i], the last gap at the end."""

    atoms: list[Atom]
    gaps: list[str]

    @property
    def text(self) -> str:
        """The text without markup."""
        return "".join(
            gap + body for gap, body in zip(self.gaps, [*(atom.body for atom in self.atoms), ""], strict=True)
        )


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
    passage = replace(passage, protected=required_spans(passage, prediction))
    restored = not prediction.reused and (passage.protected or placeholders(text))  # a stored text has its own
    placed = _Placer(passage, text, target_words, places).all() if restored else []
    return _split(text, placed, target_words, places)


def required_spans(passage: Passage, prediction: Prediction) -> tuple[ProtectedSpan, ...]:
    """Return the protected spans of a passage without numerals that a term of a glossary has translated.

    A stored translation has its own: of it none are required.
    """
    if prediction.reused:
        return ()
    terms = {passage.places[place] for used in prediction.used_terms() for place in range(*used)}
    return tuple(
        each for each in passage.protected if not (each.numeral and any(each.start <= one < each.end for one in terms))
    )


class _Placer:
    """Finds a place for each protected span, no two in the same one."""

    def __init__(self, passage: Passage, text: str, words: Sequence[TextSpan], places: Sequence[int | None]) -> None:
        self.passage, self.text, self.words, self.places = passage, text, words, places
        self.ends = [0] * len(text)  # end of the span that has taken each character
        self.known = sorted((place, word) for word, place in enumerate(places) if place is not None)

    def all(self) -> list[_Placed]:
        """Return all replacements in target order."""
        placed, missing = [], []
        whole, read = defaultdict[str, list[TextSpan]](list), defaultdict[str, list[ProtectedSpan]](list)
        found = placeholders(self.text)
        for each in reversed(found):
            whole[self.text[each.start : each.end]].append(TextSpan(each.start, each.end))
        searched: dict[str, int] = defaultdict(int)
        for wanted in sorted(self.passage.protected, key=lambda wanted: wanted.start - wanted.end):
            span = None
            if wanted.body != wanted.shown:
                span = self._whole(whole[wanted.body]) or self._anywhere(wanted.body, searched)
            if span is not None:
                placed.append(self._take(span, wanted))
            elif wanted.shown:
                read[wanted.shown].append(wanted)
            else:
                missing.append(wanted)
        for shown in sorted(read, key=lambda shown: -len(shown)):
            spans = self._written(shown)
            for wanted in sorted(read[shown], key=lambda each: each.start):
                if spans:
                    span = self._nearest(spans, wanted, len(read[shown]))
                    placed.append(self._take(span, wanted))
                else:
                    missing.append(wanted)
        placed += [self._take(self._aligned(wanted), wanted) for wanted in sorted(missing, key=lambda each: each.start)]
        invented = [each for each in found if each.machine and not any(self.ends[each.start : each.end])]
        placed += [_Placed(each.start, each.end, None) for each in invented]
        placed += self._leftovers()
        return sorted(placed, key=lambda each: (each.start, each.end, each.protected.start if each.protected else -1))

    def _take(self, span: TextSpan, protected: ProtectedSpan) -> _Placed:
        if protected.numeral and protected.body != protected.shown:
            span = self._with_signs(span, protected.body)
        self.ends[span.start : span.end] = [span.end] * (span.end - span.start)
        return _Placed(span.start, span.end, protected)

    def _with_signs(self, span: TextSpan, body: str) -> TextSpan:
        """Return the span with the unit, sign or currency that the model wrote beside it although it comes with it."""
        signs = {one for one in body if not one.isalnum() and not one.isspace() and one not in ".,:"}
        start, end = span
        while start > 0 and self.text[start - 1] in signs and not self.ends[start - 1]:
            start -= 1
        behind = end + (self.text[end : end + 1] == " ")
        while self.text[behind : behind + 1] in signs and not self.ends[behind]:
            behind = end = behind + 1
        return TextSpan(start, end)

    def _written(self, shown: str) -> list[TextSpan]:
        """Return all free places with this text, from the left."""
        searched, found = dict[str, int](), list[TextSpan]()
        searched[shown] = 0
        while (span := self._anywhere(shown, searched)) is not None:
            found.append(span)
        return found

    def _nearest(self, spans: list[TextSpan], wanted: ProtectedSpan, others: int) -> TextSpan:
        """Take the span whose word is aligned to it, else the first, off the list."""
        best = 0
        if others > 1:
            origins = [self._origin(span.start) for span in spans]
            best = next((place for place, one in enumerate(origins) if one in range(wanted.start, wanted.end)), 0)
        return spans.pop(best)

    def _origin(self, place: int) -> int | None:
        """Return the position in the source that a character comes from."""
        word = bisect_left(self.words, (place + 1,)) - 1
        return self.places[word] if word >= 0 else None

    def _leftovers(self) -> Iterator[_Placed]:
        """Yield numbers that the model wrote beside those of the source: half of one, the same again, or invented.

        Where number words are not known, only those that are aligned to a numeral of the source.
        """
        numerals = self.passage.numerals
        if not numerals:
            return
        known, source = knows_number_words(self.passage.language), self.passage.text
        words = digits_of_words(source, ((each.start, each.end) for each in numerals), self.passage.places)
        for span in new_numbers(source, self.text, words):
            if any(self.ends[span.start : span.end]) or any(map(str.isalpha, self.text[span.start : span.end])):
                continue
            origin = self._origin(span.start)
            owner = next((each for each in numerals if origin in range(each.start, each.end)), None)
            if owner is not None or known:
                start, end = self._with_signs(span, owner.body if owner else "")
                yield _Placed(start - self.text[start - 1 : start].isspace(), end, None)

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
        before, after = self.text[max(0, place - 2) : place], self.text[place : place + 2]
        number = (after[:1].isdigit() and before[:1].isdigit() and before[1:] in _JOINS) or (
            before[-1:].isdigit() and after[1:].isdigit() and after[:1] in _JOINS
        )
        return bool(before and after) and (number or (in_word(before[-1]) and in_word(after[0])))

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
    cursor, word, numeral = 0, 0, ""  # the numeral that was written last
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
            both = bool(atoms) and not gaps[-1] and atoms[-1].body == numeral
            tail = _tail(atoms, gaps)
            glued = protected.numeral and (both or sticks_before(tail, protected.body))
            close = protected.numeral and bool(tail) and unspaced(tail[-1])  # no space behind Chinese words
            if not gaps[-1] and (glued or (protected.left and atoms and not close)):
                gaps[-1] = " "
            numeral = protected.body if protected.numeral else ""
            atoms.append(Atom(protected.body, protected.start, True))
            stop = numeral.endswith(".") and text.startswith(".", end)  # "5 p.m." ends a sentence
            cursor = max(cursor, end + stop)
            glued = protected.numeral and sticks_behind(protected.body, text[cursor : cursor + 2])
            gaps.append(" " if glued or (protected.right and in_word(text[cursor : cursor + 1] or " ")) else "")
    return RestoredText(atoms, gaps)


def _tail(atoms: Sequence[Atom], gaps: Sequence[str]) -> str:
    """Return the last two characters."""
    text, atom = gaps[-1], len(atoms)
    while len(text) < 2 and atom > 0:
        atom -= 1
        text = gaps[atom] + atoms[atom].body + text
    return text[-2:]
