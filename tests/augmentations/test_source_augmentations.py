"""Context in sources: written by hand, never of the pair itself, the same for one seed."""

import pytest

from regard.augmentations import AUGMENTATIONS
from regard.augmentations.augmentation import AugmentedPairs, SourceHints, TermHint
from regard.augmentations.fuzzy_matches import FuzzyMatches
from regard.augmentations.terms import AnnotatedTerms
from regard.data.examples import Example
from regard.data.readers.reader import Reader
from regard.errors import DataError
from regard.registry import Choice
from regard.results import MemoryMatch
from regard.text.source_marks import given_stretches, given_text, without_source_marks
from regard.text.stems import same_stem

PAIRS = [
    ("open the red file", "öffne die rote Datei"),
    ("open the blue file", "öffne die blaue Datei"),
    ("open the red file", "öffne die rote Akte"),
    ("never seen words here", "nie gesehene Wörter hier"),
]
NOUNS = {"dog": ("Hund", "Hunde"), "cat": ("Kater", "Katern"), "man": ("Mann", "Männern")}
INFLECTED = [
    (
        f"the {noun} sees a {other}",
        f"der {forms[0]} sieht mit {NOUNS[other][1]}" if odd else f"der {forms[0]} sieht {NOUNS[other][0]}",
    )
    for noun, forms in NOUNS.items()
    for other in NOUNS
    for odd in (False, False, True)
]


class Listed(Reader):
    columns, files = ("source", "target"), ()

    def __init__(self, pairs):
        self.pairs = pairs

    def key(self):
        return repr(self.pairs)

    def __iter__(self):
        return (Example(line, dict(zip(self.columns, pair, strict=True))) for line, pair in enumerate(self.pairs, 1))


def match(percent, target):
    return MemoryMatch(percent, 1, "", target, "", "", "")


def test_matches_stand_behind_the_source_from_the_threshold_on():
    hints = SourceHints(matches=[match(90, "eins"), match(60, "zwei"), match(59, "drei")])
    assert FuzzyMatches(threshold=60, matches=3).augmented("one", hints) == "one ⟦match⟧ eins ⟦match⟧ zwei"
    assert FuzzyMatches().augmented("one", hints) == "one ⟦match⟧ eins"
    assert FuzzyMatches(threshold=95).augmented("one", hints) == "one"
    assert FuzzyMatches().augmented("one", SourceHints(matches=[match(101, "a"), match(100, "b")])) == "one"


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("append", "a ⟦term⟧ dog ⟦as⟧ Hund ⟦end⟧, (⟦term⟧ cat ⟦as⟧ Kater ⟦end⟧)"),
        ("replace", "a ⟦as⟧ Hund ⟦end⟧, (⟦as⟧ Kater ⟦end⟧)"),
    ],
)
def test_terms_stand_between_marks(mode, wanted):
    hints = SourceHints(terms=[TermHint(2, 5, "Hund"), TermHint(8, 11, "Kater")])
    assert AnnotatedTerms(mode=mode).augmented("a dog, (cat)", hints) == wanted.replace("(⟦", "( ⟦")


def test_a_given_text_is_found_in_its_augmented_form():
    hints = SourceHints(terms=[TermHint(4, 7, "Hund")], matches=[match(80, "ein Satz")])
    marked = FuzzyMatches().augmented(AnnotatedTerms().augmented("the dog runs", hints), hints)
    assert [marked[start:end] for start, end in given_stretches(marked)] == ["the", "dog", "runs"]
    assert given_text(marked) == given_text("the dog runs") == "the dog runs"


def test_marks_of_a_user_mark_nothing():
    assert without_source_marks("a ⟦term⟧ b ⟦x⟧") == "a [term] b ⟦x⟧"
    assert "⟦as⟧ [end] ⟦end⟧" in AnnotatedTerms().augmented("dog", SourceHints(terms=[TermHint(0, 3, "⟦end⟧")]))


def test_a_pair_is_never_its_own_context():
    found = dict(FuzzyMatches(threshold=50).hints(PAIRS, 1))
    assert {place: [one.target for one in hints.matches] for place, hints in found.items()} == {
        0: ["öffne die blaue Datei"],
        1: ["öffne die rote Akte"],
        2: ["öffne die blaue Datei"],
    }


def test_training_terms_are_of_their_own_pair():
    for place, hints in AnnotatedTerms(base_forms=0.0).hints(INFLECTED, 1):
        source, target = INFLECTED[place]
        ends = [0, *(one.end for one in hints.terms)]
        assert all(end <= one.start for end, one in zip(ends, hints.terms, strict=False))
        assert all(one.target in target and source[one.start : one.end].strip() for one in hints.terms)


def test_base_forms_are_the_most_frequent_ones():
    found = [
        one.target for _, hints in AnnotatedTerms(base_forms=1.0, words=1).hints(INFLECTED, 1) for one in hints.terms
    ]
    assert {"Hund", "Kater", "Mann"} <= {*found}
    assert not {"Hunde", "Katern", "Männern"} & {*found}


@pytest.mark.parametrize("name", sorted(AUGMENTATIONS))
def test_examples_depend_on_the_seed_and_keep_their_lines(name):
    pairs = [*PAIRS, *INFLECTED]

    def made(seed):
        return [*AugmentedPairs(Listed(pairs), Choice(name), AUGMENTATIONS.build(Choice(name)), seed)]

    assert made(1) == made(1)
    for line, texts in made(1):
        assert texts["target"] == pairs[line - 1][1]
        given = given_text(texts["source"]).replace(" ", "")
        assert given == pairs[line - 1][0].replace(" ", "")
        assert texts["source"] != pairs[line - 1][0]
    assert (made(1) != made(2)) == (name == "terms")


def test_a_long_search_reports_its_progress(monkeypatch):
    monkeypatch.setattr("regard.augmentations.augmentation._PAUSE", 0.0)
    choice, said = Choice("fuzzy_matches"), []
    [*AugmentedPairs(Listed(PAIRS), choice, AUGMENTATIONS.build(choice), 1, say=said.append)]
    assert said and "3 of 4 pairs" in said[-1]


def test_pairs_without_hints_are_one_clear_error():
    choice = Choice("fuzzy_matches")
    with pytest.raises(DataError, match=r"data\.source_augmentations\.fuzzy_matches: .*nothing can be learnt"):
        [*AugmentedPairs(Listed([("one", "eins"), ("two", "zwei")]), choice, AUGMENTATIONS.build(choice), 1)]


@pytest.mark.parametrize(
    ("word", "other", "same"),
    [
        ("Hund", "hunde", True), ("Haus", "Häusern", True), ("rote Datei", "roten Dateien", True),
        ("Hund", "Hundehütte", False), ("Kater", "Katze", False), ("Hund", "ein Hund", False), ("in", "im", False),
        ("Hund", "Hundes", True), ("Katze", "Katzen", True), ("car", "cars", True), ("city", "cities", True),
        ("walk", "walking", True), ("fenêtre", "FENETRES", True), ("ragazzo", "ragazzi", True),
        ("Bank", "Band", False), ("Hund", "Hunger", False), ("Hand", "Handel", False), ("Wein", "Weib", False),
        ("Rind", "Ring", False), ("2024", "2025", False), ("COVID-19", "COVID-18", False), ("Typ-2", "Typ-25", False),
        ("roter Hut", "roten Hut", True), ("guter Wein", "gutem Weine", True), ("roter", "roten", False),
        ("gute Bank", "gute Band", False),
    ],
)  # fmt: skip
def test_stems(word, other, same):
    assert same_stem(word, other) == same_stem(other, word) == same
