"""Words of a script that a vocabulary does not know are copied: the model would have to spell them in bytes."""

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from regard.documents.document import Document
from regard.documents.passages import Passage, ProtectedSpan
from regard.documents.segments import STOPS
from regard.documents.text_spans import TextSpan, has_letters
from regard.scripts import UNSPACED

_WORD = re.compile(f"[{UNSPACED}]+|[^\\s{UNSPACED}]+")
_UNKNOWN = 0.5  # of a word's characters, or a text's letters: a rare letter in a known word is spelt
COPIED = "its script is not in the training data: copied unchanged"


def copy_unknown_words(document: Document, alphabet: frozenset[str]) -> Document:
    """Return the document with such words hidden from the model, to be put back as placeholders are.

    `alphabet`: the characters that pieces of the vocabulary hold; of an empty one nothing is known. A sentence without
    letters of another script stays as it is: it is copied as a whole.
    """
    known = alphabet | {" "}
    if not alphabet or all(known.issuperset(passage.text) for passage in document.passages):
        return document
    segments = [segment._replace(passage=_hidden(segment.passage, known)) for segment in document.segments]
    insets = tuple(copy_unknown_words(inset, alphabet) for inset in document.insets.documents)
    return replace(document, segments=segments, insets=document.insets._replace(documents=insets))


def unknown_script(text: str, alphabet: frozenset[str]) -> bool:
    """Return whether most letters of a text are in no piece of the vocabulary: a script that training never saw."""
    if alphabet.issuperset(text.replace(" ", "")):
        return False
    letters = [character for character in text if character.isalpha()]
    unknown = [one for one in letters if alphabet.isdisjoint((one, one.lower(), one.upper()))]
    return len(unknown) > _UNKNOWN * len(letters)


def _hidden(passage: Passage, known: frozenset[str]) -> Passage:
    text, places = passage.text, passage.places
    numerals = {each.start: each for each in passage.protected if each.shown}
    owners = _owners(places, numerals)
    spans = list(_unknown(text, places, owners, known))
    rest = _rest(text, spans)
    asked = "".join(character for _, character in rest)
    if not spans or not has_letters(asked):
        return passage
    copies = list[ProtectedSpan]()
    for start, end in spans:
        left, right = text[:start].endswith(" "), text.startswith(" ", end)
        owner = owners[start]
        if owner is None:
            copied = ProtectedSpan(places[start], places[end - 1] + 1, text[start:end], left=left, right=right)
            copies.append(copied._replace(copied=True))
        else:
            numerals[owner] = numerals[owner]._replace(shown="")
    others = [each for each in passage.protected if not each.shown]
    protected = tuple(sorted([*others, *numerals.values(), *copies]))
    return replace(passage, text=asked, places=array("L", (places[place] for place, _ in rest)), protected=protected)


def _owners(places: Sequence[int], numerals: Mapping[int, ProtectedSpan]) -> list[int | None]:
    """Return for each character of a passage the start of the numeral that it stands for, if any."""
    owners, owner, end = list[int | None](), 0, 0
    for place in places:
        if place in numerals:
            owner, end = place, numerals[place].end
        owners.append(owner if place < end else None)
    return owners


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


def _unknown(
    text: str, places: Sequence[int], owners: Sequence[int | None], known: frozenset[str]
) -> Iterator[TextSpan]:
    """Yield the words that are mostly unknown, parted where something hidden stands in them; numerals are whole."""
    for word in _WORD.finditer(text):
        strange = [known.isdisjoint((one, one.lower(), one.upper())) for one in word[0]]
        if sum(strange) <= _UNKNOWN * len(strange):
            continue
        start = word.start()
        for place in range(word.start() + 1, word.end() + 1):
            apart = place == word.end() or owners[place] != owners[place - 1]
            if apart or (owners[place] is None and places[place] != places[place - 1] + 1):
                yield TextSpan(start, place)
                start = place
