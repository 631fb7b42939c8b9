"""Counts of translations and their entropy by hand; pseudo-tokens; a file and what is wrong with one."""

import gzip
import math

import pytest

from regard.errors import DataError
from regard.statistical.translations import Translations, pseudo_target

PAIRS = [
    (["s1"], ["t1"]),
    (["s1"], ["t2"]),
    (["s1", "s2"], ["t3", "x", "t4"]),  # s1 is t3 and t4 together
    (["s1"], ["x"]),  # and here nothing
]
LINKS = [[(0, 0)], [(0, 0)], [(0, 2), (0, 0), (1, 1)], []]


def test_each_occurrence_counts_once():
    found = Translations.of(PAIRS, LINKS)
    assert found.counts == {"s1": {"t1": 1, "t2": 1, "t3 t4": 1, "": 1}, "s2": {"x": 1}}
    assert (found.count("s1"), found.count("s3")) == (4, 0)


def test_entropy_by_hand():
    found = Translations({"four": dict.fromkeys("abcd", 7), "half": {"a": 2, "b": 1, "": 1}, "one": {"a": 5}})
    assert found.entropy("four") == pytest.approx(math.log(4))
    assert found.entropy("half") == pytest.approx(1.5 * math.log(2))
    assert (found.entropy("one"), found.entropy("never")) == (0, 0)


def test_ambiguous_words_are_frequent_and_sorted():
    counts = {
        "rare": dict.fromkeys("abc", 1),
        "two": {"a": 5, "b": 5},
        "three": dict.fromkeys("abc", 5),
        "one": {"a": 9},
    }
    found = Translations(counts)
    assert found.ambiguous(0.5, min_count=5) == ["three", "two"]
    assert found.ambiguous(1.0, min_count=5) == ["three", "two", "one"]


def test_pseudo_tokens_take_the_place_of_translations():
    source, target = ["er", "nimmt", "Platz"], ["he", "sits", "right", "down", "there"]
    links = [(0, 0), (1, 1), (2, 1), (1, 3), (2, 4), (1, 2)]
    assert pseudo_target(source, target, links, {"nimmt"}) == ["he", "nimmt4s", "there"]
    assert pseudo_target(source, target, links, {"nimmt", "Platz"}) == ["he", "nimmt4s", "Platz4s"]
    assert pseudo_target(source, target, links, set()) == target
    spaced = [" he", " sits", " right", " down", "."]
    assert "".join(pseudo_target(source, spaced, links, {"nimmt"})) == " he nimmt4s."


def test_pseudo_tokens_leave_no_entropy():
    pairs = [(["bank", "da"], ["Ufer", "da"]), (["da", "bank"], ["da", "Geld", "Haus"]), (["bank"], ["Bank"])]
    links = [[(0, 0), (1, 1)], [(0, 0), (1, 1), (1, 2)], [(0, 0)]]
    before = Translations.of(pairs, links)
    rows = zip(pairs, links, strict=True)
    changed = [(source, pseudo_target(source, target, row, {"bank"})) for (source, target), row in rows]
    after = Translations.of(changed, [[(0, 0), (1, 1)], [(0, 0), (1, 1)], [(0, 0)]])
    assert before.entropy("bank") == pytest.approx(math.log(3))
    assert after.counts["bank"] == {"bank4s": 3} and after.entropy("bank") == 0


def test_a_file_keeps_all_counts(tmp_path):
    found = Translations.of(PAIRS, LINKS)
    found.write(tmp_path / "t.gz")
    assert Translations.read(tmp_path / "t.gz").counts == found.counts


@pytest.mark.parametrize("line", ["house", "house\tHaus", "house\tHaus\t0", "house\tHaus\tx", "house\tHaus\t1\t2"])
def test_a_line_that_counts_nothing_is_told(tmp_path, line):
    with gzip.open(tmp_path / "t.gz", "wt") as file:
        file.write(f"a\tb\t1\n{line}\n")
    with pytest.raises(DataError, match=r"t\.gz:2: .*is not a count of a translation"):
        Translations.read(tmp_path / "t.gz")
