"""Wraps text into lines of about equal length."""

import re

from regard.documents.placeholders import placeholders
from regard.documents.words import in_word

_TAG = re.compile(r"<[^<>]{0,240}+>|\{[^{}]{0,240}+\}")
_MOST = 12  # lines


def wrap_lines(text: str, lines: int) -> str:
    """Return `text` in at most `lines` lines, broken at spaces or in unspaced scripts, not in tags and numerals."""
    lines = min(lines, _MOST)
    if lines < 2 or not text.strip():
        return text
    shown = _shown(text)
    broken, cursor = [], 0
    inside = {place for one in placeholders(text) if one.numeral for place in range(one.start + 1, one.end)}
    for line in range(1, lines):
        wanted = shown[-1] * line / lines
        breaks = [
            place for place in range(cursor + 1, len(text)) if place not in inside and _may_break(text, place, shown)
        ]
        if not breaks:
            break
        best = min(breaks, key=lambda place: abs(shown[place] - wanted))
        broken.append(text[cursor:best].rstrip())
        cursor = best
    return "\n".join([*broken, text[cursor:].lstrip() if broken else text])


def _shown(text: str) -> list[int]:
    """Return for each position the number of visible characters before it."""
    hidden = bytearray(len(text))
    for match in _TAG.finditer(text):
        hidden[match.start() : match.end()] = b"\1" * len(match[0])
    counts = [0]
    for flag in hidden:
        counts.append(counts[-1] + (not flag))
    return counts


def _may_break(text: str, place: int, shown: list[int]) -> bool:
    before, after = text[place - 1], text[place]
    if shown[place] == shown[place - 1] and before not in ">}":
        return False  # inside a tag
    if before.isspace():
        return True
    return before.isalpha() and after.isalpha() and not in_word(before) and not in_word(after)
