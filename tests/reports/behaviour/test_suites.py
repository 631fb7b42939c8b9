"""The suites find planted errors, and pass right answers, in every pair of languages that they know."""

import pytest

from benchmarks import benchmark
from regard.registry import Choice
from regard.reports.behaviour import SUITES, CodePair, sampled_cases
from regard.reports.behaviour.evidence import has_value, mentions, values_of
from regard.reports.behaviour.texts import behaviour_texts, languages_with_texts

planted = benchmark("planted_behaviour")
SURE = 0.95


@pytest.mark.parametrize("suite", SUITES)
def test_planted_errors_are_found_and_right_answers_pass(suite):
    rows = [one for pair in planted.pairs() for one in planted.planted(suite, pair, cases=6)]
    found = planted.rates(rows)
    assert found.right > 200 and found.wrong > 50
    assert min(found.precision, found.recall) >= SURE


@pytest.mark.parametrize("language", languages_with_texts())
def test_texts_of_a_language_have_their_nouns_and_their_places(language):
    texts, english = behaviour_texts(language), behaviour_texts("en")
    assert [*map(len, texts)][:-1] == [*map(len, english)][:-1]
    for row in (
        [plain for plain, _ in texts.sentences],
        [one for _, one in texts.sentences],
        texts.questions,
        texts.words,
    ):
        assert [text for key, text in zip(texts.keys, row, strict=False) if not mentions(key, text)] == []
    for place, texts_with in (("{n}", texts.numbers.values()), ("{name}", texts.names), ("{date}", texts.dates)):
        assert all(text.count(place) == 1 for text in texts_with)


@pytest.mark.parametrize("suite", SUITES)
def test_cases_depend_on_seed_and_pair_alone(suite):
    def texts(seed: int) -> list[tuple[str, ...]]:
        row = SUITES.build(Choice(suite), CodePair("en", "fr"))
        return [case.texts for case in sampled_cases(row, suite, 15, seed)]

    assert texts(1) == texts(1)
    assert suite == "empty" or texts(1) != texts(2)


def test_a_suite_without_words_of_a_language_is_left_out():
    reasons = {name: SUITES.build(Choice(name), CodePair("en", "tlh")).missing() for name in SUITES}
    assert "tlh" in reasons["negation"] and "tlh" in reasons["dates"]
    assert reasons["empty"] == reasons["numbers"] == ""
    assert SUITES.build(Choice("capitals"), CodePair("zh", "en")).missing()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.234.567 Leute", 1234567),
        ("1\u202f234,5 km", "1234.5"),
        ("１２ 度", 12),
        ("1'234.50", "1234.50"),
        ("3.141", 3141),
    ],
)
def test_values_of_other_formats(text, value):
    assert has_value(text, value if isinstance(value, int) else values_of(value)[0].pop())


@pytest.mark.parametrize(("text", "value"), [("1.234.567", 1234568), ("12", 21), ("no number", 14)])
def test_other_values_are_not_found(text, value):
    assert not has_value(text, value)
