"""Faults of translations by hand, and good translations left alone."""

import pytest

from regard.explain.translation_faults import FaultFinder
from regard.statistical.translations import Translations

COUNTS = {
    "the": {"der": 400, "die": 400, "": 3},
    "dog": {"hund": 20},
    "runs": {"läuft": 9, "rennt": 9},
    "two": {"zwei": 30, "beide": 3},
    "cats": {"katzen": 12},
    "boston": {"boston": 3},
    "old": {"alte": 8, "alten": 5, "": 1},
    "rarely": {"selten": 2},
}
FINDER = FaultFinder(Translations(COUNTS))


def faults(source: str, target: str) -> list[tuple[str, str, str]]:
    return [(fault.kind, fault.word, fault.suggestion) for fault in FINDER.faults(source, target)]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("The dog runs.", "Der Hund rennt."),
        ("Two cats", "Beide Katzen"),
        ("Two old dogs", "2 alte Hunde"),
        ("The dog of Boston runs", "Der Hund Bostons läuft"),
        ("The dog rarely runs", "Der Hund rennt"),  # too rare a word to be judged
        ("The dog runs, the dog", "Der Hund rennt, der Hund"),
        ("Two cats, the dog runs, two cats.", "Zwei Katzen, der Hund läuft, zwei Katzen."),
        ("Two cats, the dog runs.", "Zwei Katzen, die der Hund, die der alte, die läuft."),
        ("The dog runs.", "Der Hund, Katzen."),  # maybe a free translation
        ("", ""),
    ],
)
def test_good_translations_are_left_alone(source, target):
    assert faults(source, target) == []


@pytest.mark.parametrize(
    ("source", "target", "wanted"),
    [
        ("The dog runs.", "Der Hund.", ("dropped", "runs", "läuft")),
        ("The dog runs.", "Der Hund Hund läuft.", ("repeated", "Hund", "")),
        ("The dog runs, the two old.", "Der Hund läuft die zwei alte alten der Hund.", ("repeated", "Hund", "")),
        ("The dog runs.", "Der der Hund läuft.", ("repeated", "der", "")),
        ("Two cats", "Drei Katzen", ("number", "Drei", "zwei")),
        ("17 cats", "71 Katzen", ("number", "71", "17")),
        ("17 cats", "Katzen", ("number", "17", "")),
        ("The dog of Boston", "Der Hund von Berlin", ("name", "Boston", "boston")),
        ("The dog of Quito", "Der Hund von Lima", ("name", "Quito", "Quito")),
        ("The dog runs.", "Der Hund läuft alte Katzen.", ("invented", "Katzen", "")),
        ("The dog runs.", "Der ⁇ läuft.", ("unknown", "⁇", "hund")),
    ],
)
def test_each_fault_is_found_with_a_suggestion(source, target, wanted):
    assert wanted in faults(source, target)


def test_a_fault_tells_where_it_stands_and_what_it_came_from():
    (fault,) = FINDER.faults("Two cats", "Drei Katzen")
    assert (fault.side, fault.place, fault.source) == ("target", [0, 4], "Two")
    assert str(fault) == "number: Drei ← Two (zwei?)"


def test_a_word_has_one_fault_alone():
    found = FINDER.faults("Two cats of Quito", "Drei Katzen")
    assert len({(fault.side, *fault.place) for fault in found}) == len(found) == 2
