"""A text → the places of its sentences, none longer than a model can take."""

import re
from collections.abc import Iterator, Sequence

import sentencex

from regard.documents.words import Span, unspaced

LIMIT = 400  # characters of a sentence; a model's own limit counts pieces, of which a word has one to three
_LINE = re.compile(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_WINDOW = 4_000  # characters the splitter sees at once, so that its time grows with the text and no faster
_SURROGATE = re.compile("[\ud800-\udfff]")
_CLOSED = "”」』’»)）"
DENSE = 160  # of a sentence whose script writes no spaces: as many pieces
_STOPS = (";；。！？!?", ":：，、,", " \t\u3000")  # where an over-long sentence is cut, the best first


def sentences(
    text: str, *, language: str | None = None, limit: int = LIMIT, kept: Sequence[Span] = ()
) -> Iterator[Span]:
    """Spans without space around them, in order; what lies between them is space or line ends.

    `kept` spans, in order, are never cut through: one that is longer than `limit` is alone.
    """
    inside = bytearray(len(text) + 1)  # 1: here no sentence may end
    for start, end in kept:
        inside[start + 1 : end] = b"\1" * max(0, end - start - 1)
    for line in _LINE.finditer(text):
        for whole in _of_line(text, line.start(), line.end(), language or "en", inside):
            yield from _cut(text, whole, limit, inside)


def _of_line(text: str, start: int, end: int, language: str, inside: bytearray) -> Iterator[Span]:
    begin = start
    for place in _boundaries(text, start, end, language):
        if place < end and (inside[place] or _goes_on(text, place)):
            continue
        yield from _stripped(text, begin, place)
        begin = place


def _boundaries(text: str, start: int, end: int, language: str) -> Iterator[int]:
    """Ends of sentences, the end of the line last; long lines pass by in windows."""
    while end - start > _WINDOW:
        lengths = _segments(text[start : start + _WINDOW], language)
        for length in lengths[:-1] or lengths:  # the last one may go on behind the window
            start += length
            yield start
    for length in _segments(text[start:end], language):
        start += length
        if start < end:
            yield start
    yield end


def _segments(line: str, language: str) -> list[int]:
    """Lengths of the sentences of a line, the space behind each included."""
    lengths = [len(part) for part in sentencex.segment(language, _SURROGATE.sub("\ufffd", line))]
    return lengths if sum(lengths) == len(line) else [len(line)]


def _goes_on(text: str, place: int) -> bool:
    """“你好。”他说: speech that the sentence around it takes up."""
    return text[place - 1] in _CLOSED and text[place].isalpha()


def _cut(text: str, whole: Span, limit: int, inside: bytearray) -> Iterator[Span]:
    start, end = whole
    while end - start > (most := _most(text, start, end, limit)):
        place = _best_cut(text, start, start + most, inside)
        yield from _stripped(text, start, place)
        start = place
    yield from _stripped(text, start, end)


def _most(text: str, start: int, end: int, limit: int) -> int:
    """Characters of the next piece."""
    if limit <= DENSE or end - start <= DENSE or text.isascii():
        return limit
    return DENSE if sum(map(unspaced, text[start : start + DENSE])) > DENSE // 2 else limit


def _best_cut(text: str, start: int, end: int, inside: bytearray) -> int:
    """Behind the last stop of the best kind in the second half, else behind a word, else anywhere allowed."""
    for stops in _STOPS:
        for place in range(end, (start + end) // 2, -1):
            if text[place - 1] in stops and not inside[place] and not _in_number(text, place):
                return place
    before = next((place for place in range(end, start, -1) if not inside[place]), None)
    return inside.index(0, end) if before is None else before


def _in_number(text: str, place: int) -> bool:
    return text[place - 2].isdigit() and text[place].isdigit()


def _stripped(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield Span(start, end)
