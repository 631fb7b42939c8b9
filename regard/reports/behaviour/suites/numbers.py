"""Numbers: digits, signs, units, currencies and times."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial
from random import Random
from typing import NamedTuple

from regard.reports.behaviour.evidence import has_value, mentions
from regard.reports.behaviour.suite import Case, Suite

_MINUS = r"[-−–‒﹣－]\s?\d|minus|moins|menos|negativ|\bunter\b|below|under|dessous|sous zero|bajo|负|零下|以下"
_UNITS = {  # kind of number → patterns of its unit in any language, folded
    "weight": r"kg|kilo|公斤|千克|斤",
    "cold": r"[°℃度]|grad|degr|celsius|centigr|摄氏",
    "percent": r"[%％]|per ?cent|prozent|pour ?cent|por ?cien|百分",
    "money": r"€|eur|欧|歐",
    "distance": r"km|kilom|公里|千米|里",
}
_CLOCK = re.compile(r"(?<=\d)\s?[:：.,h]\s?(?=\d)")  # between hours and minutes
_QUARTERS = r"hal[bf]|demie?\b|media\b|半|quarter|viertel|quart\b|cuarto|刻"  # in words; the hour may be the next one
_COMMA = (",", ".", "\u00a0")  # decimal point, mark between thousands, and space before a sign
_FORMATS = {"de": _COMMA, "es": _COMMA, "fr": (",", "\u00a0", "\u00a0")}
_POINT = (".", ",", "")  # of the others


class _Number(NamedTuple):
    kind: str
    written: str
    values: tuple[Decimal, ...]  # one of them must stand in the answer
    others: tuple[Decimal, ...]  # which must stand there, too


class NumbersSuite(Suite):
    """Numbers in sentences. The answer has the value, in any formatting, its minus sign and its unit.

    A number may be written as a word; then it is not checked.
    """

    about = "numbers keep value, sign and unit"
    writes = False

    def cases(self, draw: Random) -> Iterator[Case]:
        while True:
            for kind, template in self.texts.numbers.items():
                number = _sampled(kind, self.pair.source, draw)
                yield Case((template.replace("{n}", number.written),), partial(_fault, number))


def _sampled(kind: str, language: str, draw: Random) -> _Number:
    """Return a random number of a kind, written as a language does."""
    point, group, space = _FORMATS.get(language, _POINT)
    whole, tenth = draw.randint(13, 99), draw.randint(1, 9)
    written, values, others = str(whole), tuple[Decimal, ...]([Decimal(whole)]), tuple[Decimal, ...]()
    if kind == "many":
        values = (Decimal(draw.randint(100_000, 9_999_999)),)
        written = f"{values[0]:,}".replace(",", group)
    elif kind in ("weight", "percent"):
        values = (Decimal(f"{whole}.{tenth}"),)
        written = f"{whole}{point}{tenth}" + (" kg" if kind == "weight" else f"{space}%")
    elif kind == "money":
        values = (Decimal(f"{whole}.{tenth}9"),)
        written = f"{whole}{point}{tenth}9{space}€" if space else f"€{values[0]}"
    elif kind == "time":
        hour, minute = draw.randint(13, 23), draw.randint(13, 59)
        values, others, written = (Decimal(hour), Decimal(hour - 12)), (Decimal(minute),), f"{hour}:{minute}"
    elif kind in ("cold", "distance"):
        written = f"-{whole} °C" if kind == "cold" else f"{whole} km"
    return _Number(kind, written, values, others)


def _fault(number: _Number, answers: Sequence[str]) -> str:
    (answer,) = answers
    here = _CLOCK.sub(" ", answer) if number.kind == "time" else answer
    if number.kind == "time" and number.others[0] % 15 == 0 and mentions(_QUARTERS, answer):
        return ""
    if not any(has_value(here, value) for value in number.values):
        return f"number lost: {number.written}"
    if not all(has_value(here, value) for value in number.others):
        return f"minutes lost: {number.written}"
    if number.kind == "cold" and not mentions(_MINUS, answer):
        return f"minus sign lost: {number.written}"
    if number.kind in _UNITS and not mentions(_UNITS[number.kind], answer):
        return f"unit lost: {number.written}"
    return ""
