"""The benchmark of faults: what is planted, and how it is counted."""

import random

import pytest

from benchmarks import benchmark
from regard.results import TranslationFault

planted_faults = benchmark("planted_faults")
SOURCE, TARGET = "Two dogs of Boston run", "Zwei Hunde aus Boston laufen"


def plant(kind: str, others: list[str]):
    return planted_faults.KINDS[kind](SOURCE, TARGET, others, random.Random(1))


@pytest.mark.parametrize(
    ("kind", "others", "change"),
    [
        ("dropped", [], -1),
        ("repeated", [], 1),
        ("number", [], 0),
        ("name", ["Berlin"], 0),
        ("invented", [TARGET], 3),
        ("untranslated", [], 1),
    ],
)
def test_each_fault_changes_what_it_says(kind, others, change):
    found = plant(kind, others)
    before, after = TARGET.split(), found.target.split()
    assert (found.kind, found.source, len(after) - len(before)) == (kind, SOURCE, change)
    assert found.target != TARGET
    assert {word for side, word in found.words if side == "target"} <= {word.lower() for word in after}


def test_what_cannot_be_planted_is_not():
    assert planted_faults.name(SOURCE, TARGET, ["Boston"], random.Random(1)) is None
    assert planted_faults.number("dogs", "Hunde", [], random.Random(1)) is None


def test_a_kind_by_itself_is_planted_wherever_it_can_be():
    found = planted_faults.planted_alone("untranslated", [SOURCE, "a b"], [TARGET, "ein b"])
    assert [(one.kind, one.source) for one in found] == [("untranslated", SOURCE)]
    (word,) = [word for _, word in found[0].words]
    assert word in SOURCE.split() and word in found[0].target.split()


@pytest.mark.parametrize(("words", "distance"), [(1, 0), (1, 3), (2, 2), (3, 1)])
def test_a_repeat_stands_as_far_behind_as_it_says(words, distance):
    target = "Alpha beta gamma delta epsilon"
    found = planted_faults.repeated_later("", target, words, distance, random.Random(1)).target.split()
    (first,) = [
        place
        for place in range(len(target.split()) - words - distance + 1)
        if found[place : place + words] == found[place + words + distance : place + 2 * words + distance]
    ]
    del found[first + words + distance : first + 2 * words + distance]
    assert found == target.split()
    assert planted_faults.repeated_later("", target, 3, 3, random.Random(1)) is None


class Known:
    """Tells that every word of the target was said twice."""

    def faults(self, source, target):
        return [TranslationFault("repeated", "target", word, [0, 0]) for word in target.split()]


def test_rates_by_hand():
    some = [plant("repeated", []), plant("dropped", []), plant("number", [])]
    found = planted_faults.rates(Known(), some)
    assert found["repeated"] == (1, 1 / 3, 1.0)
    assert found["dropped"] == (1, 0.0, 0.0)
    assert found["name"] == (0, 0.0, 0.0)
