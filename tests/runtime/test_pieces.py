"""Rules of normalisation: as a dictionary of them has it, the longest text first."""

import random

import pytest

from regard.runtime.pieces import NormalisingRules


def plainly(text, rules):
    found, place = "", 0
    while place < len(text):
        sizes = [size for size in range(len(text) - place, 0, -1) if text[place : place + size] in rules]
        size = sizes[0] if sizes else 1
        found += rules.get(text[place : place + size], text[place])
        place += size
    return found


@pytest.mark.parametrize("seed", range(20))
def test_rules_are_those_of_a_dictionary(seed):
    draw, letters = random.Random(seed), "ab\n\u0301中𝒜"

    def text(most):
        return "".join(draw.choices(letters, k=draw.randint(0, most)))

    rules = {one: text(3) for one in (text(4) for _ in range(seed * 2)) if one}
    defined = [one for one in (text(3) for _ in range(2)) if one]
    kept = NormalisingRules(["".join(f"{one[part]}\0" for one in sorted(rules.items())) for part in (0, 1)], defined)
    for _ in range(50):
        asked = text(30)
        assert kept.apply(asked) == plainly(asked, rules | {one: one for one in defined})


@pytest.mark.parametrize("rules", [["a\0", ""], ["a\0b\0", "c\0"]])
def test_rules_without_their_texts_are_refused(rules):
    with pytest.raises(ValueError, match="a rule"):
        NormalisingRules(rules, [])
