"""Perturbations by hand and by their contract: seeded, of chosen words alone, nested in their shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError, RegardError
from regard.registry import Choice
from regard.text.perturbations import PERTURBATIONS, perturbation_of
from regard.text.perturbations.perturbation import changeable_words
from regard.text.vector_table import VectorTable

TEXT = "Two young men, who don't know that dog, carry an old green ladder through 3 rooms."
NEAR = VectorTable(
    ["dog", "cat", "Dog", "men", "boys", "red"], np.array([[1, 0], [0.9, 0.1], [1, 0], [0, 1], [0.1, 0.9], [1, 1]])
)
ALL = 1.0


def built(name, **settings):
    return PERTURBATIONS.build(Choice(name, settings), lambda: NEAR)


def of_word(name, word, where, how, **settings):
    return built(name, **settings).of_word(word, where, how)


@pytest.fixture(params=sorted(PERTURBATIONS))
def name(request):
    return request.param


def test_draws_depend_on_seed_and_line_alone(name):
    one, other, lines = built(name, probability=0.5), built(name, probability=0.5, seed=2), range(40)
    assert [one(TEXT, line) for line in lines] == [built(name, probability=0.5)(TEXT, line) for line in lines]
    assert [one(TEXT, line) for line in lines] != [other(TEXT, line) for line in lines]
    assert len({one(TEXT, line) for line in lines}) > 1


def test_no_share_changes_nothing(name):
    texts = [TEXT, "", "  two  spaces ", "…", "一只狗"]
    assert [built(name, probability=0)(text, 1) for text in texts] == texts


@given(text=st.text(max_size=30), line=st.integers(0, 5))
def test_any_text_keeps_words_and_signs(text, line):
    for name in PERTURBATIONS:
        changed = built(name, probability=ALL)(text, line)
        assert bool(changeable_words(changed)) == bool(changeable_words(text))


@pytest.mark.parametrize("name", ["case", "keyboard", "synonym", "typo"])
def test_a_larger_share_changes_more_of_the_same_words(name):
    words = changeable_words(TEXT)
    for line in range(20):
        few, many = (changeable_words(built(name, probability=share)(TEXT, line)) for share in (0.2, 0.6))
        assert {place for place, word in enumerate(few) if word != words[place]} <= {
            place for place, word in enumerate(many) if word != words[place]
        }
        assert all(one == two for one, two, word in zip(few, many, words, strict=True) if one != word)


def test_about_the_share_of_words_is_changed():
    words = changeable_words(TEXT) * 500
    changed = changeable_words(built("case", probability=0.3)(" ".join(words), 1))
    found = np.mean([one != other for one, other in zip(words, changed, strict=True)])
    may = np.mean([word.upper() != word for word in words])
    assert abs(found - 0.3 * may) < 0.02


def test_words_are_cut_at_spaces_signs_and_han_characters():
    assert changeable_words("Don't stop, 两只狗 ok!") == ["Don't", "stop", "两", "只", "狗", "ok"]


def test_a_typo_exchanges_leaves_out_or_doubles():
    slips = [of_word("typo", "house", where, how) for how in (0.0, 0.4, 0.9) for where in (0.0, 0.99)]
    assert slips == ["huose", "houes", "huse", "hous", "hoouse", "housee"]
    assert [of_word("typo", "ab", 0.5, how) for how in (0.0, 0.9)] == ["a", "abb"]
    assert of_word("typo", "a", 0.5, 0.5) == "a"


def test_a_wrong_key_is_beside_the_right_one():
    assert [of_word("keyboard", "s", 0.0, how) for how in (0.0, 0.2, 0.4, 0.6, 0.7, 0.9)] == [
        "a",
        "d",
        "e",
        "w",
        "x",
        "z",
    ]
    assert of_word("keyboard", "aP", 0.6, 0.0) == "aL"
    assert of_word("keyboard", "7", 0.5, 0.5) == "7"
    assert of_word("keyboard", "z", 0.0, 0.9, layout="qwertz") == "u"


def test_a_slip_on_the_keyboard_can_be_slipped_back():
    for layout in ("qwerty", "qwertz", "azerty"):
        beside = built("keyboard", layout=layout).beside
        assert all(key in beside[other] for key, others in beside.items() for other in others)


@pytest.mark.parametrize(("to", "changed"), [("upper", "ICH"), ("lower", "ich"), ("title", "Ich"), ("swapped", "iCH")])
def test_case_of_a_word(to, changed):
    assert of_word("case", "Ich", 0.1, 0.1, to=to) == changed


def test_swapped_words_move_by_one_place_between_the_same_signs():
    assert built("swap", probability=ALL)("one two, three four; five.", 0) == "two one, four three; five."


def test_dropped_words_leave_single_spaces_and_one_word():
    assert len(changeable_words(built("drop", probability=ALL)("one two three", 3))) == 1
    texts = {built("drop", probability=0.5)("one two three.", line) for line in range(60)}
    assert {"one three.", "two three.", "one two ."} <= texts


def test_a_synonym_is_near_and_has_the_capitals_of_the_word():
    assert of_word("synonym", "dog", 0.0, 0.0, count=1) == "cat"  # not Dog, which is nearer
    assert of_word("synonym", "Men", 0.0, 0.0, count=1) == "Boys"
    assert of_word("synonym", "MEN", 0.0, 0.0, count=1) == "BOYS"
    assert {of_word("synonym", "dog", 0.0, how, count=2) for how in (0.0, 0.9)} == {"cat", "red"}
    assert of_word("synonym", "house", 0.0, 0.0) == "house"


def test_only_synonyms_need_vectors():
    def vectors():
        raise RegardError("no vectors")

    for name in PERTURBATIONS:
        if name != "synonym":
            PERTURBATIONS.build(Choice(name), vectors)
    with pytest.raises(RegardError, match="no vectors"):
        PERTURBATIONS.build(Choice("synonym"), vectors)


def test_names_with_and_without_a_share():
    assert perturbation_of("typo") == Choice("typo")
    assert perturbation_of("Typos:0.25") == Choice("typo", {"probability": 0.25})


@pytest.mark.parametrize(
    ("spelled", "parts"),
    [("tippo", ["--perturb", "'tippo'", "typo"]), ("typo:much", ["--perturb", "typo:much", "typo:0.1"])],
)
def test_a_bad_name_is_told_in_a_line(spelled, parts):
    with pytest.raises(ConfigError) as caught:
        perturbation_of(spelled)
    assert "\n" not in str(caught.value) and all(part in str(caught.value) for part in parts)
