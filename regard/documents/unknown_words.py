"""Words of a script that a vocabulary does not know are copied: the model would have to spell them in bytes."""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace

from regard.documents.document import Document
from regard.documents.passages import Passage, ProtectedSpan
from regard.documents.segments import STOPS
from regard.documents.words import TextSpan, has_letters
from regard.scripts import UNSPACED

_WORD = re.compile(f"[{UNSPACED}]+|[^\\s{UNSPACED}]+")
_UNKNOWN = 0.5  # of a word's characters: a rare letter in a known word is spelt


def copy_unknown_words(document: Document, alphabet: frozenset[str]) -> Document:
    """Return the document with such words hidden from the model, to be put back as placeholders are.

    `alphabet`: the characters that pieces of the vocabulary hold; of an empty one nothing is known. A sentence without
    letters of another script stays as it is: it is copied as a whole.
    """
    known = alphabet | {" "}
    if not alphabet or all(known.issuperset(passage.text) for passage in document.passages):
        return document
    segments = [segment._replace(passage=_hidden(segment.passage, known)) for segment in document.segments]
    return replace(document, segments=segments)


def _hidden(passage: Passage, known: frozenset[str]) -> Passage:
    text, places = passage.text, passage.places
    spans = list(_unknown(passage, known))
    rest = _rest(text, spans)
    asked = "".join(character for _, character in rest)
    if not spans or not has_letters(asked):
        return passage
    copies = [
        ProtectedSpan(
            places[start],
            places[end - 1] + 1,
            text[start:end],
            left=text[:start].endswith(" "),
            right=text.startswith(" ", end),
            copied=True,
        )
        for start, end in spans
    ]
    protected = tuple(sorted([*passage.protected, *copies]))
    return replace(passage, text=asked, places=array("L", (places[place] for place, _ in rest)), protected=protected)


def _rest(text: str, spans: Sequence[TextSpan]) -> list[tuple[int, str]]:
    """Return the characters that the model gets, with their places: one space where something is hidden, or none."""
    rest = list[tuple[int, str]]()
    cursor = 0
    for start, end in [*spans, TextSpan(len(text), len(text))]:
        for place in range(cursor, start):
            first, spaced = place == cursor > 0, not rest or rest[-1][1] == " "
            if first and spaced and rest and text[place] in STOPS:
                rest.pop()
            elif first and not spaced and text[place] not in f"{STOPS} ":
                rest.append((place, " "))
            if text[place] != " " or not spaced:
                rest.append((place, text[place]))
        cursor = end
    while rest and rest[-1][1] == " ":
        rest.pop()
    return rest


def _unknown(passage: Passage, known: frozenset[str]) -> Iterator[TextSpan]:
    """Yield the words that are mostly unknown, parted where something hidden stands in them."""
    text, places = passage.text, passage.places
    for word in _WORD.finditer(text):
        strange = [known.isdisjoint((one, one.lower(), one.upper())) for one in word[0]]
        if sum(strange) <= _UNKNOWN * len(strange):
            continue
        start = word.start()
        for place in range(word.start() + 1, word.end() + 1):
            if place == word.end() or places[place] != places[place - 1] + 1:
                yield TextSpan(start, place)
                start = place
