"""Placeholders of long texts, which are read in portions."""

import random

import pytest

from regard.documents import placeholders as part
from regard.documents.placeholders import placeholders

PARTS = [
    "%s",
    "{name}",
    "http://a.b/c?d=e,",
    "12,345.6",
    "-5 °C",
    "€1,234.56",
    "a" * 150,
    "b" * 9000,
    "1" * 200,
    "word",
    "#tag",
    "x@y.de",
    "😀",
    "&amp;",
    "<b c='d'>",
    "日本",
    "+33 1 23 45 67 89",
    "12/31/2024",
    ". ",
    "\n",
]


@pytest.mark.parametrize("step", [20, 333])
def test_portions_find_what_one_reading_finds(monkeypatch, step):
    draws = random.Random(step)
    texts = ["".join(draws.choice(PARTS) + draws.choice([" ", "", "\n"]) for _ in range(100)) for _ in range(10)]
    monkeypatch.setattr(part, "STEP", 10**9)
    whole = [placeholders(text) for text in texts]
    monkeypatch.setattr(part, "STEP", step)
    assert [placeholders(text) for text in texts] == whole
