"""Similarity of two source texts in per cent, as translation memories count it: by the edit distance of words."""

import re
import unicodedata
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from regard.scripts import UNSPACED
from regard.text.clean import without_surrogates

EXACT, IN_CONTEXT = 100, 101
THRESHOLD = 70  # per cent, below which a segment helps little
_ALMOST = 99  # the same words with other capitals or punctuation
_WORDS = re.compile(rf"[{UNSPACED}]|[^\W_]+(?:['’][^\W_]+)*")
_SPACES = re.compile(r"\s+")


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


def differences(text: str, other: str) -> list[tuple[str, str]]:
    """Return the stretches of two texts in order, by characters: equal, replaced, or on one side alone."""
    sides = [[(found.start(), found.end()) for found in _WORDS.finditer(one)] for one in (text, other)]
    words = [[one[start:end].casefold() for start, end in side] for one, side in zip((text, other), sides, strict=True)]
    found, places = list[tuple[str, str]](), [0, 0]
    for step in Levenshtein.opcodes(*words):
        ends = [_end(sides[0], step.src_end, text), _end(sides[1], step.dest_end, other)]
        found.append((text[places[0] : ends[0]], other[places[1] : ends[1]]))
        places = ends
    if places != [len(text), len(other)]:
        found.append((text[places[0] :], other[places[1] :]))
    return found


def _end(spans: Sequence[tuple[int, int]], count: int, text: str) -> int:
    """Return where the first `count` words end, with the signs and spaces before the next one."""
    return spans[count][0] if count < len(spans) else len(text) if count else 0
