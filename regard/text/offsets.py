"""Where pieces stand in a text as it was given: what they are cut from is cleaned, and may lose more than that."""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from regard.pieces import byte_of
from regard.text.clean import clean

TextPlace = tuple[int, int] | None  # the first character, and the first one behind; None: of no character that is seen


def spelt_places(pieces: Sequence[str], text: str, spelt: Sequence[str]) -> list[TextPlace]:
    """Pieces that spell a clean text, each character as in `spelt` → places in that text, without spaces at the front.

    What the pieces spell before it, as the space before its first word, has no place.
    """
    ends = list(accumulate(len(one.encode()) for one in spelt))
    behind = list(accumulate(1 if byte_of(piece) is not None else len(piece.encode()) for piece in pieces))
    before = behind[-1] - ends[-1] if pieces and ends else 0
    found, start = list[TextPlace](), 0
    for end in (one - before for one in behind):
        first, last = bisect_right(ends, max(start, 0)), bisect_left(ends, end) + 1
        found.append(trimmed(text, first, last) if end > 0 else None)
        start = end
    return found


def given_places(text: str, places: Iterable[TextPlace]) -> list[TextPlace]:
    """Places in clean(text) → those in the text itself."""
    if unicodedata.is_normalized("NFC", text):
        return list(places)
    origins = _origins(text)
    return [None if one is None else (origins[one[0]][0], origins[one[1] - 1][1]) for one in places]


def _origins(text: str) -> list[tuple[int, int]]:
    """For each character of clean(text) the place of those that it was composed of."""
    cuts = [0]
    for place in range(1, len(text)):
        before, character = text[cuts[-1] : place], text[place]
        if unicodedata.combining(character) == 0 and clean(before + character) == clean(before) + clean(character):
            cuts.append(place)
    spans = zip(cuts, [*cuts[1:], len(text)], strict=True)
    return [(start, end) for start, end in spans for _ in clean(text[start:end])]


def trimmed(text: str, first: int, last: int) -> TextPlace:
    """Return a place without the spaces at its front; None: there is nothing else."""
    start = first + len(text[first:last]) - len(text[first:last].lstrip())
    return (start, last) if start < last else None
