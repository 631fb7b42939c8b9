"""Tokens as people read them: nothing invisible, and pieces put together to words."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from regard.pieces import END, SPECIALS, UNK, byte_of
from regard.text.word_groups import SPACE_MARK, SPACES, continues

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs"}  # controls, formats (bidi), surrogates, separators
_JOINERS = {"\u200c", "\u200d"}  # needed inside words of many scripts
_CONTROL_PICTURES = 0x2400
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Word(NamedTuple):
    """A word of a text and the positions of its pieces."""

    text: str
    pieces: list[int]
    unknown: bool = False  # to the model: read as <unk>


def visible(text: str) -> str:
    """Return the text with a glyph for each character that is invisible or changes the layout.

    >>> visible("a b\\u202e")
    'a␣b⟨U+202E⟩'
    """
    return "".join(map(_glyph, text))


def visible_line(text: str) -> str:
    """Return the text with glyphs for invisible characters, but plain spaces."""
    return " ".join(map(visible, text.split(" ")))


def _glyph(character: str) -> str:
    code = ord(character)
    if character == " ":
        return "␣"
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    shown = unicodedata.category(character) not in _HIDDEN or character in _JOINERS
    never = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF  # no character, ever; XML forbids some of them
    return character if shown and not never else f"⟨U+{code:04X}⟩"


def words_of(tokens: Sequence[str]) -> list[Word]:
    """Join pieces to words; a Han or Kana character, a punctuation mark and the end symbol stand alone.

    A piece begins a word when it starts with a space or its mark. If no token does, the tokens are the words.
    """
    marked = any(token.startswith(SPACES) for token in tokens)
    groups: list[list[int]] = []
    for position, token in enumerate(tokens):
        if position and marked and continues(tokens[position - 1], token):
            groups[-1].append(position)
        else:
            groups.append([position])
    texts = [[tokens[piece] for piece in group] for group in groups]
    return [Word(_joined(text), group, SPECIALS[UNK] in text) for text, group in zip(texts, groups, strict=True)]


def given_words(words: Sequence[Word], offsets: Sequence[Sequence[int] | None] | None, text: str) -> list[Word]:
    """Return the words, spelt as in the given text where the place of a piece is known.

    >>> [word.text for word in given_words(words_of([" the", "<unk>", "</s>"]), [[0, 3], [4, 8], None], "The plot")]
    ['The', 'plot', '</s>']
    """
    if not offsets or not text:
        return list(words)
    spans = given_spans(words, offsets)
    pairs = zip(words, spans, strict=True)
    return [word if span is None else word._replace(text=text[slice(*span)]) for word, span in pairs]


def given_spans(words: Sequence[Word], offsets: Sequence[Sequence[int] | None]) -> list[tuple[int, int] | None]:
    """Return start and end of each word in characters, by the offsets of its pieces; None without offsets."""
    places = [[place for piece in word.pieces if (place := offsets[piece]) is not None] for word in words]
    return [(min(one[0] for one in each), max(one[1] for one in each)) if each else None for each in places]


def numbered_repeats(words: Sequence[str]) -> list[str]:
    """Return visible words; repeated ones are numbered.

    >>> numbered_repeats(["the", "cat", "the"])
    ['the₁', 'cat', 'the₂']
    """
    shown = [visible(word) for word in words]
    counts, so_far = Counter(shown), Counter[str]()
    labels = []
    for word in shown:
        so_far[word] += 1
        labels.append(word + (str(so_far[word]).translate(_SUBSCRIPTS) if counts[word] > 1 else ""))
    return labels


def is_end(tokens: Sequence[str], position: int) -> bool:
    """Return whether this is the end symbol and no text."""
    return position == len(tokens) - 1 and tokens[position] == END


def right_to_left(tokens: Sequence[str]) -> bool:
    """Return whether most letters are of a script written from right to left."""
    directions = [unicodedata.bidirectional(character) for token in tokens for character in token]
    right = sum(direction in {"R", "AL"} for direction in directions)
    return right > directions.count("L")


def _joined(pieces: Sequence[str]) -> str:
    """The text of a word, its byte pieces read as UTF-8, without the space before it."""
    text, waiting = "", bytearray()
    for piece in [*pieces, ""]:
        byte = byte_of(piece)
        if byte is not None:
            waiting.append(byte)
        else:
            text += waiting.decode("utf-8", "replace") + piece
            waiting.clear()
    return text.lstrip(f"{SPACE_MARK} ") or text
