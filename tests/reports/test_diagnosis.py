"""Diagnoses of a corpus: the worst first, counts of sentences, and lines as people read them."""

from regard.explain.translation_faults import FaultFinder
from regard.reports.diagnosis import diagnosis
from regard.statistical.translations import Translations

FINDER = FaultFinder(
    Translations({"dog": {"Hund".lower(): 9}, "cat": {"katze": 9}, "a": {"ein": 9, "eine": 9}, "two": {"zwei": 9}})
)


def test_the_most_faults_a_word_come_first():
    found = diagnosis(
        FINDER,
        [
            ("a dog", "ein Hund", -1.0),
            ("a dog", "ein", -1.0),
            ("a dog", "ein Hund Katze zwei Katze", -1.0),
            ("a cat", "eine", -2.0),
        ],
    )
    assert (found.sentences, [one.line for one in found.found]) == (4, [3, 4, 2])
    assert found.counts == {"dropped": 2, "invented": 1, "number": 1}
    assert str(found).startswith(
        "3 of 4 translations have words worth a look: dropped 2, invented 1, number 1\n\nline 3\n"
    )
    assert "line 2\n  a dog\n  ein\n  dropped: dog (hund?)" in str(found)
    assert found.values()["worst"][2]["faults"][0] == {
        "kind": "dropped", "side": "source", "word": "dog", "place": [2, 5], "source": "dog", "suggestion": "hund",
    }  # fmt: skip


def test_a_corpus_without_faults_is_said_to_have_none():
    assert str(diagnosis(FINDER, [("a dog", "ein Hund", 0.0)])) == ("0 of 1 translations have words worth a look: none")
