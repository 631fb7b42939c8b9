"""Words in any script, and the word of a source that each word of its translation comes from.

Tags and placeholders are placed between words, never inside one. An alignment may be wrong or missing.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from regard.pieces import byte_of
from regard.results import Prediction
from regard.scripts import UNSPACED

_UNSPACED = re.compile(f"[{UNSPACED}]")
_REACH = 40  # characters to search ahead for a piece
_LINKS = "'’-‐·"  # part of a word when between letters


class TextSpan(NamedTuple):
    """Characters `start` to `end` (exclusive)."""

    start: int
    end: int


def unspaced(character: str) -> bool:
    """Return whether the character's script puts no spaces between words."""
    return character >= "\u0e00" and _UNSPACED.match(character) is not None


def in_word(character: str) -> bool:
    """Return whether the character is a letter, digit, mark or underscore of a script with spaces between words."""
    return (character == "_" or unicodedata.category(character)[0] in "LNM") and not unspaced(character)


def has_letters(text: str) -> bool:
    """Return whether the text has anything to translate."""
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


def word_origins(
    source: str, source_words: Sequence[TextSpan], target_words: Sequence[TextSpan], prediction: Prediction
) -> list[int | None]:
    """Return for each target word the position of its source word, or None if unknown.

    Without a usable link, assume the same word order.
    """
    explanation = prediction.explanation
    votes: list[Counter[int]] = [Counter() for _ in target_words]
    if explanation is not None:
        read, written = (explanation.column(name).texts for name in explanation.link[:2])
        from_source = _words_of_tokens(source, source_words, read)
        from_target = _words_of_tokens(prediction.text, target_words, written)
        for source_token, target_token in explanation.link.pairs:
            if 0 <= source_token < len(from_source) and 0 <= target_token < len(from_target):
                _vote(votes, from_source[source_token], from_target[target_token])
    if not any(votes):
        scale = len(source_words) / max(1, len(target_words))
        return [int((word + 0.5) * scale) if source_words else None for word in range(len(target_words))]
    return [vote.most_common(1)[0][0] if vote else None for vote in votes]


def _vote(votes: list[Counter[int]], source_words: range, target_words: range) -> None:
    """Add a vote for each word of one linked pair of tokens; several words are paired in order."""
    for place, word in enumerate(target_words):
        first = place * len(source_words) // len(target_words)
        last = max(first + 1, (place + 1) * len(source_words) // len(target_words))
        votes[word].update(source_words[first:last])


def _words_of_tokens(text: str, words: Sequence[TextSpan], tokens: Sequence[str]) -> list[range]:
    """Return the words that each token covers."""
    owner = [-1] * len(text)
    for number, (start, end) in enumerate(words):
        owner[start:end] = [number] * (end - start)
    covered = []
    for start, end in _places(text, tokens):
        found = [number for number in owner[start:end] if number >= 0]
        covered.append(range(found[0], found[-1] + 1) if found else range(0))
    return covered


def _places(text: str, tokens: Sequence[str]) -> list[TextSpan]:
    """Return the span of each token in the text; empty if it is not found."""
    places: list[TextSpan] = []
    place, position = 0, 0
    while position < len(tokens):
        piece, count = _piece(tokens, position)
        start = text.find(piece, place, place + len(piece) + _REACH) if piece else -1
        span = TextSpan(start, start + len(piece)) if start >= 0 else TextSpan(place, place)
        places.extend([span] * count)
        place, position = span.end, position + count
    return places


def _piece(tokens: Sequence[str], position: int) -> tuple[str, int]:
    """Return a token's text without its leading space, and how many tokens it takes (bytes in a row are one)."""
    end, spelt = position, bytearray()
    while end < len(tokens) and (byte := byte_of(tokens[end])) is not None:
        spelt.append(byte)
        end += 1
    if spelt:
        return spelt.decode("utf-8", "replace"), end - position
    return tokens[position].replace("▁", " ").strip(), 1
