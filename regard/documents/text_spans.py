"""Word boundaries in any script: tags and placeholders are placed between words, never inside one."""

import re
import unicodedata
from typing import NamedTuple

from regard.scripts import UNSPACED

_UNSPACED = re.compile(f"[{UNSPACED}]")
_LINKS = "'’-‐·"  # part of a word when between letters


class TextSpan(NamedTuple):
    """Characters `start` to `end` (exclusive)."""

    start: int
    end: int


def unspaced(character: str) -> bool:
    """Whether the character's script puts no spaces between words."""
    return character >= "\u0e00" and _UNSPACED.match(character) is not None


def in_word(character: str) -> bool:
    """Whether the character is a letter, digit, mark or underscore of a script with spaces between words."""
    return (character == "_" or unicodedata.category(character)[0] in "LNM") and not unspaced(character)


def has_letters(text: str) -> bool:
    """Whether the text has anything to translate."""
    return any(character.isalpha() for character in text)


def word_spans(text: str) -> list[TextSpan]:
    """Return spans of words, of single characters in unspaced scripts, and of single punctuation marks.

    >>> [text[a:b] for text in ["Don't go, 你好!"] for a, b in word_spans(text)]
    ["Don't", 'go', ',', '你', '好', '!']
    """
    found: list[TextSpan] = []
    growing = False  # whether the last word may take another letter
    for place, character in enumerate(text):
        if character.isspace():
            growing = False
            continue
        category = unicodedata.category(character)
        letter = in_word(character)
        attached = bool(found) and found[-1].end == place
        inside = growing and character in _LINKS and place + 1 < len(text) and in_word(text[place + 1])
        if attached and (category[0] == "M" or category in {"Cf", "Sk"} or (growing and letter) or inside):
            found[-1] = TextSpan(found[-1].start, place + 1)
        else:
            found.append(TextSpan(place, place + 1))
            growing = letter
    return found
