"""Sentences with numerals of every shape, and a count of what a translation lost of them.

The shapes are built from digits, signs and units here, not by the patterns under test.
"""

import random
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

ENGLISH = (
    "The man has {} in the park.", "The price is {} or {}.", "My mother calls {} every day.",
    "It is {}, and the river is {}, but nobody knows {}.", "Please send {} to my friend before {}.",
    "Is {} better than {}?", "{} is what the teacher wrote.", "We saw {}; they saw {}!",
)  # fmt: skip
CHINESE = (
    "价格是{}。", "他们说{}和{}。", "请在{}之前告诉我{}。", "{}是老师写的。", "今天的温度是{}，昨天是{}。",
    "我的朋友买了{}，还有{}和{}。",
)  # fmt: skip
_SIGNS = "%％‰°℃′″€$¥£№½¼¾²³×≈±−"


class Numbered(NamedTuple):
    """A sentence and the numerals in it."""

    text: str
    numerals: tuple[str, ...]


def sentences(count: int, seed: int = 0) -> Iterator[Numbered]:
    """Yield sentences in English and Chinese; of one sentence no numeral is part of another."""
    draws = random.Random(seed)
    for number in range(count):
        carrier = draws.choice((ENGLISH, CHINESE)[number % 2])
        found = list[str]()
        while len(found) < carrier.count("{}"):
            new = draws.choice(SHAPES)(draws)
            if not any(new in one or one in new for one in found):
                found.append(new)
        yield Numbered(carrier.format(*found), tuple(found))


def lost(numerals: Sequence[str], translation: str) -> list[str]:
    """Return the numerals that do not stand whole in a translation, each in a place of its own."""
    return _compared(numerals, translation)[0]


def invented(numerals: Sequence[str], translation: str) -> str:
    """Return the digits and signs of numerals that a translation has in addition."""
    rest = _compared(numerals, translation)[1]
    return "".join(one for one in rest if one.isdigit() or one in _SIGNS)


def _compared(numerals: Sequence[str], translation: str) -> tuple[list[str], str]:
    missing, rest = list[str](), translation
    for one in sorted(numerals, key=len, reverse=True):
        pattern = rf"(?<![0-9A-Za-z+\-{_SIGNS}])(?<!\d[.,:]){re.escape(one)}(?![0-9A-Za-z{_SIGNS}])(?![.,:]\d)"
        found = re.search(pattern, rest)
        if found is None:
            missing.append(one)
        else:
            rest = f"{rest[: found.start()]}\0{rest[found.end() :]}"
    return missing, rest


def _digits(draws: random.Random, least: int = 1, most: int = 3) -> str:
    return str(draws.randint(10 ** (least - 1), 10 ** draws.randint(least, most) - 1))


def _wide(text: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) if one.isdigit() else one for one in text)


SHAPES = (
    lambda d: _digits(d, 1, 4),
    lambda d: f"{d.choice('-−+±')}{_digits(d)}{d.choice(['', '.5', ' °C', '°', ' %', '%'])}",
    lambda d: f"{_digits(d)}{d.choice([' %', '%', ' °C', '℃', '°', '′', '％'])}",
    lambda d: f"{_digits(d)}{d.choice([' €', '€', ' km/h', 'km/h', ' kg', ' m²'])}",
    lambda d: f"+{_digits(d, 2, 2)} {_digits(d, 1, 1)} {' '.join(_digits(d, 2, 2) for _ in range(4))}",
    lambda d: f"(0{_digits(d, 2, 3)}) {_digits(d, 3, 3)}-{_digits(d, 4, 4)}",
    lambda d: f"{d.choice('€$£¥')}{_digits(d)}{d.choice(['', '.50', ',234.56', ',000,000'])}",
    lambda d: f"{_digits(d)}.{_digits(d, 3, 3)},{_digits(d, 2, 2)} €",
    lambda d: f"{d.randint(1, 12)}/{d.randint(1, 31)}/{d.randint(1950, 2049)}",
    lambda d: f"{d.randint(1950, 2049)}-{d.randint(1, 12):02}-{d.randint(1, 31):02}",
    lambda d: f"{d.randint(1, 31)}.{d.randint(1, 12)}.{d.randint(1950, 2049)}",
    lambda d: f"{_digits(d)}{d.choice(['×', ' x ', ' × ', '/', '-', '–', ':', '～'])}{_digits(d)}",
    lambda d: f"{d.choice(['', _digits(d, 1, 1)])}{d.choice('½¼¾')}",
    lambda d: f"{d.randint(1, 23)}:{d.randint(0, 59):02}",
    lambda d: f"{d.randint(1, 11)}{d.choice([' p.m.', ' a.m.', 'pm', ' PM'])}",
    lambda d: f"v{_digits(d, 1, 1)}.{_digits(d, 1, 2)}{d.choice(['', '-rc3', '.7'])}",
    lambda d: f"{d.choice(['#', '№ ', '№'])}{_digits(d)}",
    lambda d: f"{_digits(d, 1, 2)}{d.choice('²³')}",
    lambda d: f"{_digits(d, 1, 1)}e-{_digits(d, 1, 1)}",
    lambda d: f"π≈3.{_digits(d, 2, 3)}",
    lambda d: f"978-{_digits(d, 1, 1)}-{_digits(d, 2, 2)}-{_digits(d, 6, 6)}-{_digits(d, 1, 1)}",
    lambda d: ".".join(_digits(d) for _ in range(4)),
    lambda d: _wide(_digits(d)),
    lambda d: f"{_wide(_digits(d))}{d.choice(['℃', '％', f'～{_wide(_digits(d))}'])}",
    lambda d: f"二〇二{d.choice('一二三四五')}年{d.randint(1, 12)}月{d.randint(1, 31)}日",
    lambda d: f"{d.randint(1990, 2049)}年{d.randint(1, 12)}月{d.randint(1, 31)}日",
    lambda d: f"{d.choice(['COVID-', 'A', 'H', 'MP'])}{_digits(d, 1, 2)}",
    lambda d: f"{_digits(d, 3, 3)} {_digits(d, 3, 3)}{d.choice([',50', ' 000'])}",
)  # fmt: skip
