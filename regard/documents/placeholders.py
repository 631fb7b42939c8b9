"""Finds what a translation must not change: `%s`, `{name}`, links, numbers, addresses, hashtags, emoji."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from regard.documents.numerals import NUMERAL, NUMERIC
from regard.documents.size_budget import SizeBudget
from regard.scripts import UNSPACED

STEP, AHEAD = 10_000, 4_000  # characters that are read at a time; more than a match takes whose length has bounds
_LONGEST_WORD = 100  # characters between two spaces; anything longer is not translated
_SIGNS = r"\u2190-\u21ff\u2300-\u245f\u2500-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff"  # emoji, ♪, arrows
_ONE = rf"[{_SIGNS}][\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]*+"  # with its colour, as text or as a picture
SIGN = rf"(?:[\U0001f1e6-\U0001f1ff]{{2}}|{_ONE}(?:\u200d{_ONE})*+)"  # a flag, or one made of several
_GOES_ON = (
    rf"[^\s{UNSPACED}\u0f00-\u0fff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\u200b\ua980-\ua9df]"  # scripts with spaces
)
_MACHINE = r"""(?=[%{$:<&[])(?:
  %(?:                                                                       # %(name)s, %(name)d%%
      \((?:\w|[.-]){1,60}+\)[#0+-]{0,3}\d{0,3}(?:\.\d{1,3})?[a-zA-Z](?:(?:%%){1,9}+(?!%))?
    | (?<!%%)(?:\d{1,3}\$)?[#0+-]{0,3}+\d{0,3}+(?:\.\d{1,3}+)?+(?:hh?|ll?|[qjzt])?  # %s %1$s %d%%
      [sdiufFeEgGxXocCpaA@](?![a-zA-Z])(?:(?:%%){1,9}+(?!%))?
    | (?<!%%)%(?!%)
  )
| \[X\d{1,6}+X\]                                                             # [X12X], of Weblate
| \{\{[^{}\r\n]{0,100}+\}\}                                                  # {{name}}
| \$\{[^{}\r\n]{0,100}+\}                                                    # ${name}
| \{[^{}\s]{0,60}+\}                                                         # {name}
| (?<![\w:]):[a-z][a-z0-9_+-]{0,40}+:(?![\w:])                               # :name:
| </?[A-Za-z][\w.:-]{0,40}+(?:[ ][^<>\r\n]{0,200}+)?>                        # <x/> <g id="1">
| </?[A-Za-z0-9][\w.:-]{0,40}+/?>
| &(?:[A-Za-z][A-Za-z0-9]{1,30}+|\#\d{1,7}+|\#[xX][0-9a-fA-F]{1,6}+);        # &nbsp;
)"""
_PLAIN = rf"""
  (?<![\w])(?:https?|ftp)://[^\s<>"“”„«»「」『』《》，。！？；、]{{1,2000}}+
| (?<![\w.@])www\.[^\s<>"“”„«»「」『』《》，。！？；、]{{1,500}}+
| (?<![\w.+-])(?:mailto:)?[\w.+-]{{1,64}}+@[A-Za-z0-9-]{{1,63}}+(?:\.[A-Za-z0-9-]{{1,63}}+){{1,8}}+
| (?<![\w@/])@[A-Za-z0-9_]{{1,60}}+(?:@[A-Za-z0-9.-]{{1,100}}+)?
| (?<![\w&\#])[\#＃](?=\w)(?!\d+(?!\w))[\w]{{1,100}}+
| {SIGN}
"""
_LONG = rf"(?<!{_GOES_ON}){_GOES_ON}{{{_LONGEST_WORD + 1},}}+"
_NUMERIC = re.compile(NUMERIC)
_LINK = re.compile(r"(?:https?|ftp)://|www\.")
_TRAILING = ".,;:!?'’*_~"


class Placeholder(NamedTuple):
    """Its span. Programs read `machine` ones, so a translation must not contain a new one."""

    start: int
    end: int
    machine: bool = False
    numeral: bool = False
    long: bool = False  # too long for a word


@cache
def _pattern(*, numerals: bool) -> re.Pattern[str]:
    """Return the pattern, compiled when first used (30 ms). Without numerals a search takes a third of the time."""
    numeral = f"(?P<numeral>{NUMERAL})|" if numerals else ""
    return re.compile(f"(?P<machine>{_MACHINE})|(?P<plain>{_PLAIN})|{numeral}(?P<long>{_LONG})", re.VERBOSE)


def placeholders(text: str, budget: SizeBudget | None = None) -> list[Placeholder]:
    """Return all placeholders of a text, in order, none inside another. Raises TooLarge above the budget.

    >>> [text[p.start:p.end] for text in ["Hi {name}, see http://a.b/c. 3 new"] for p in placeholders(text)]
    ['{name}', 'http://a.b/c', '3']
    """
    found, budget = [], budget or SizeBudget()
    for match in _matches(text):
        start, end = match.span()
        if match.lastgroup == "plain":
            end = start + len(_trimmed(match[0]))
        if end > start:
            budget.count_mark()
            found.append(Placeholder(start, end, *(match.lastgroup == kind for kind in ("machine", "numeral", "long"))))
    return found


def _matches(text: str) -> Iterator[re.Match[str]]:
    """All matches of the pattern, as `finditer` has them.

    Other threads wait while a regular expression runs, so each run reads STEP characters and those that a match takes.
    """
    place = 0
    while place < len(text):
        stop, end = place + STEP, place + STEP + AHEAD
        pattern = _pattern(numerals=_NUMERIC.search(text, place, end) is not None)
        for found in pattern.finditer(text, place, end):
            if found.start() >= stop:
                break
            whole = None
            if found.end() == end:  # what has no bounds may go on
                whole = _pattern(numerals=True).match(text, found.start())
            yield whole or found
            stop = max(stop, (whole or found).end())
            if stop >= end:
                break
        place = stop


def _trimmed(found: str) -> str:
    """Return a link without the punctuation around it, or an address without its final stop."""
    trimmed = found.rstrip(_TRAILING) if _LINK.match(found) else found.rstrip(".")
    while trimmed.endswith((")", "]", "}")) and trimmed.count(trimmed[-1]) > trimmed.count(
        {")": "(", "]": "[", "}": "{"}[trimmed[-1]]
    ):
        trimmed = trimmed[:-1].rstrip(_TRAILING)
    return trimmed
