"""Where words begin and end, in any script: a tag or a placeholder may stand between words, never inside one."""

import re
import unicodedata
from typing import NamedTuple

from regard.scripts import UNSPACED

_UNSPACED = re.compile(f"[{UNSPACED}]")
_LINKS = "'’-‐·"  # between letters they belong to the word


class Span(NamedTuple):
    """Characters from `start` up to `end`."""

    start: int
    end: int


def unspaced(character: str) -> bool:
    """Whether its script writes words without spaces between them."""
    return character >= "\u0e00" and _UNSPACED.match(character) is not None


def joins(character: str) -> bool:
    """Whether it is part of a longer word: a letter, digit, mark or underscore of a script that uses spaces."""
    return (character == "_" or unicodedata.category(character)[0] in "LNM") and not unspaced(character)


def has_letters(text: str) -> bool:
    """Whether there is anything to translate."""
    return any(character.isalpha() for character in text)


def words(text: str) -> list[Span]:
    """Words, single characters of unspaced scripts, single punctuation marks; spaces are between them.

    >>> [text[a:b] for text in ["Don't go, 你好!"] for a, b in words(text)]
    ["Don't", 'go', ',', '你', '好', '!']
    """
    found: list[Span] = []
    growing = False  # whether the last word may take another letter
    for place, character in enumerate(text):
        if character.isspace():
            growing = False
            continue
        category = unicodedata.category(character)
        letter = joins(character)
        attached = bool(found) and found[-1].end == place
        inside = growing and character in _LINKS and place + 1 < len(text) and joins(text[place + 1])
        if attached and (category[0] == "M" or category in {"Cf", "Sk"} or (growing and letter) or inside):
            found[-1] = Span(found[-1].start, place + 1)
        else:
            found.append(Span(place, place + 1))
            growing = letter
    return found
