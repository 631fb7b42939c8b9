"""One piece per word, number or sign; a single space goes with what is behind it."""

import re
import unicodedata
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Pieces
from regard.scripts import CUT_APART
from regard.text.clean import clean
from regard.text.counted import CountedRecipe, Cut, Fewest
from regard.text.offsets import given_places, trimmed

_CHARACTER = re.compile(f"[{CUT_APART}]")
PIECE_PATTERN = rf" ?(?:[{CUT_APART}]|[^\W{CUT_APART}]+|[^\w\s])|\s"  # no part depends on flags
_PIECE = re.compile(PIECE_PATTERN)
_WORD, _MARK = rf"[^\W{CUT_APART}]", "\ufe0f"
_RAW_WORD = re.compile(
    rf"(?:[{CUT_APART}]|(?:https?://|www\.)[^\s{CUT_APART}]*[\w/]|(?:[A-Za-z]\.){{2,}}"  # addresses; U.S.
    rf"|[@#]?{_WORD}+(?:(?:['’._&@-]|(?<=\d)[,:/](?=\d)){_WORD}+)*"  # don't, AT&T, a@b.org, 1,000, 10:30, @name
    rf"|\.{{2,}}|[^\w\s]){_MARK}*"
)


def cut_words(text: str) -> list[str]:
    """'Hello, old world' → ' Hello', ',', ' old', ' world': joined they are the text behind one more space, so that a
    word is the same piece at the beginning of a sentence.
    """
    return _PIECE.findall(" " + text) if text else []


def raw_word_places(text: str) -> list[tuple[int, int]]:
    """Return where the words of a text stand: the first character, and the first one behind.

    "U.S. (don't): 1,000." → U.S. · ( · don't · ) · : · 1,000 · . Signs are words of their own, but within words,
    numbers, addresses and abbreviations; of scripts without spaces each character is one.
    """
    return [match.span() for match in _RAW_WORD.finditer(text if text.isascii() else _marked(text))]


def given_word_places(text: str) -> list[tuple[int, int]]:
    """Return where the words of clean(text) stand in the text itself."""
    places = given_places(text, raw_word_places(clean(text)))
    return [place for one in places if one is not None and (place := trimmed(text, *one)) is not None]


def _marked(text: str) -> str:
    """Return a text in which each accent is written as x behind a letter, and as _MARK elsewhere."""
    found = list[str]()
    for one in text:
        letter = found and re.fullmatch(_WORD, found[-1])
        found.append(one if unicodedata.category(one)[0] != "M" else "x" if letter else _MARK)
    return "".join(found)


def stands_alone(piece: str) -> bool:
    """Return whether a piece is a character of a script that is written without spaces."""
    return _CHARACTER.fullmatch(piece) is not None


class WordsRecipe(CountedRecipe):
    """Words with the space before them, punctuation alone; the most frequent `size`, rarer ones in bytes."""

    kind, cut = "words", Cut(cut_words, prefix=" ")

    def __init__(
        self,
        *,
        size: Annotated[Pieces, Doc("Maximum vocabulary size, in words; rarer ones become bytes.")] = 30000,
        min_count: Fewest = 1,
    ) -> None:
        super().__init__(size, min_count)
