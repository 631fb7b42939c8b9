"""Splits text into sentences, none longer than a model can take."""

import re
from collections.abc import Iterator, Sequence

import sentencex

from regard.documents.text_spans import TextSpan, unspaced

LIMIT = 400  # characters of a sentence; a model's own limit counts pieces, of which a word has one to three
_LINE = re.compile(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_WINDOW = 4_000  # characters given to the splitter at once, so that its time stays linear
_SURROGATE = re.compile("[\ud800-\udfff]")
_CLOSED = "”」』’»)）"
_DENSE = 160  # LIMIT for scripts without spaces: about as many pieces
_STOPS = (";；。！？!?", ":：，、,", " \t\u3000")  # where an over-long sentence is split, best first


def sentences(
    text: str, *, language: str | None = None, limit: int = LIMIT, kept: Sequence[TextSpan] = ()
) -> Iterator[TextSpan]:
    """Yield the sentences' spans in order; only white space lies between them.

    Spans in `kept` (sorted) are never split; one longer than `limit` is a sentence of its own.
    """
    inside = bytearray(len(text) + 1)  # 1: no sentence may end here
    for start, end in kept:
        inside[start + 1 : end] = b"\1" * max(0, end - start - 1)
    for line in _LINE.finditer(text):
        for whole in _of_line(text, line.start(), line.end(), language or "en", inside):
            yield from _cut(text, whole, limit, inside)


def _of_line(text: str, start: int, end: int, language: str, inside: bytearray) -> Iterator[TextSpan]:
    begin = start
    for place in _boundaries(text, start, end, language):
        if place < end and (inside[place] or _goes_on(text, place)):
            continue
        yield from _stripped(text, begin, place)
        begin = place


def _boundaries(text: str, start: int, end: int, language: str) -> Iterator[int]:
    """Yield the ends of sentences, last the end of the line; long lines are read in windows."""
    while end - start > _WINDOW:
        lengths = _segments(text[start : start + _WINDOW], language)
        for length in lengths[:-1] or lengths:  # the last one may go on after the window
            start += length
            yield start
    for length in _segments(text[start:end], language):
        start += length
        if start < end:
            yield start
    yield end


def _segments(line: str, language: str) -> list[int]:
    """Return the lengths of a line's sentences, including the space after each."""
    lengths = [len(part) for part in sentencex.segment(language, _SURROGATE.sub("\ufffd", line))]
    return lengths if sum(lengths) == len(line) else [len(line)]


def _goes_on(text: str, place: int) -> bool:
    """Return whether the sentence goes on after quoted speech: “你好。”他说"""
    return text[place - 1] in _CLOSED and text[place].isalpha()


def _cut(text: str, whole: TextSpan, limit: int, inside: bytearray) -> Iterator[TextSpan]:
    start, end = whole
    while end - start > (most := _most(text, start, end, limit)):
        place = _best_cut(text, start, start + most, inside)
        yield from _stripped(text, start, place)
        start = place
    yield from _stripped(text, start, end)


def _most(text: str, start: int, end: int, limit: int) -> int:
    """Return the most characters that the next piece may have."""
    if limit <= _DENSE or end - start <= _DENSE or text.isascii():
        return limit
    return _DENSE if sum(map(unspaced, text[start : start + _DENSE])) > _DENSE // 2 else limit


def _best_cut(text: str, start: int, end: int, inside: bytearray) -> int:
    """Return the place after the last of the best stops in the second half, else the last allowed place."""
    for stops in _STOPS:
        for place in range(end, (start + end) // 2, -1):
            cuts = text[place - 1] in stops and not inside[place]
            if cuts and not (text[place - 2].isdigit() and text[place].isdigit()):  # not in a number
                return place
    before = next((place for place in range(end, start, -1) if not inside[place]), None)
    return inside.index(0, end) if before is None else before


def _stripped(text: str, start: int, end: int) -> Iterator[TextSpan]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield TextSpan(start, end)
