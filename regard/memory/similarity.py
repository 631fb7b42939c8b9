"""Similarity of two source texts in per cent, as translation memories count it: by the edit distance of words."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from rapidfuzz.distance import Levenshtein, Opcodes

from regard.results import SegmentDifference
from regard.scripts import UNSPACED
from regard.text.clean import without_surrogates

EXACT, IN_CONTEXT = 100, 101
THRESHOLD = 70  # per cent, below which a segment helps little
_ALMOST = 99  # the same words with other capitals or punctuation
_WORDS = re.compile(rf"[{UNSPACED}]|[^\W_]+(?:['’][^\W_]+)*")
_SPACES = re.compile(r"\s+")

_Span = tuple[int, int]


def plain_text(text: str) -> str:
    """Return a text in NFC with single spaces and without surrogates: texts that are equal then are exact matches."""
    return _SPACES.sub(" ", unicodedata.normalize("NFC", without_surrogates(text))).strip()


def segment_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without signs; characters of scripts without spaces are words."""
    return _WORDS.findall(unicodedata.normalize("NFC", text).casefold())


def percent_of(words: Sequence[str], others: Sequence[str], threshold: int = 0) -> int:
    """Return 100 · (1 - edit distance / length of the longer one), at most 99, or 0 below `threshold`."""
    longest = max(len(words), len(others), 1)
    most = longest * (100 - threshold) // 100
    distance = Levenshtein.distance(words, others, score_cutoff=most)
    return min(_ALMOST, 100 * (longest - distance) // longest) if distance <= most else 0


def differences(text: str, other: str) -> list[SegmentDifference]:
    """Return the stretches in which two texts differ, in order: replaced words, words on one side alone, other signs.

    Signs and spaces belong to the word before them; spaces at the ends are not compared.
    """
    sides = [[(found.start(), found.end()) for found in _WORDS.finditer(one)] for one in (text, other)]
    words = [[one[start:end].casefold() for start, end in side] for one, side in zip((text, other), sides, strict=True)]
    found, places = list[SegmentDifference](), [0, 0]
    for ends in [*_steps(Levenshtein.opcodes(*words), sides, text, other), [len(text), len(other)]]:
        one = SegmentDifference(text[places[0] : ends[0]], other[places[1] : ends[1]], places[1])
        found += [one] if one.text.strip() != one.segment.strip() else []
        places = ends
    return found


def _steps(opcodes: Opcodes, sides: Sequence[Sequence[_Span]], text: str, other: str) -> Iterator[list[int]]:
    """Yield where both texts are after each word that they share, and after each other stretch."""
    for step in opcodes:
        count = step.src_end - step.src_start if step.tag == "equal" else 1
        for left in reversed(range(count)):
            yield [_end(sides[0], step.src_end - left, text), _end(sides[1], step.dest_end - left, other)]


def _end(spans: Sequence[_Span], count: int, text: str) -> int:
    """Return where the first `count` words end, with the signs and spaces before the next one."""
    return spans[count][0] if count < len(spans) else len(text) if count else 0
