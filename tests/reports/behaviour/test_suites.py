"""The suites find planted errors, and pass right answers, in every pair of languages that they know."""

import pytest

from benchmarks import benchmark
from regard.registry import Choice
from regard.reports.behaviour.behaviour import sampled_cases
from regard.reports.behaviour.evidence import has_value, is_negated, mentions, values_of
from regard.reports.behaviour.suite import CodePair, behaviour_texts, languages_with_texts
from regard.reports.behaviour.suites import SUITES
from regard.reports.behaviour.suites.dates import _fault as dates_fault

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


def fault_of(suite: str, text: str, answer: str, target: str, plain: str = "") -> str:
    """The fault of an answer to a text of a suite in English."""
    row = SUITES.build(Choice(suite), CodePair("en", target))
    case = next(one for seed in range(400) for one in sampled_cases(row, suite, 40, seed) if text in one.texts[0])
    return case.fault([answer, plain][: len(case.texts)])


@pytest.mark.parametrize(
    ("minute", "answer", "target"),
    [
        ("17:20", "Der Zug kommt um 17.20 Uhr an.", "de"),
        ("17:20", "El tren llega a las 17.20.", "es"),
        ("17:20", "The train arrives at 5.20 pm.", "fr"),
        ("17:20", "Le train arrive à 17h20.", "fr"),
        ("17:30", "火车下午5点半到。", "zh"),
        ("17:15", "火车下午5点一刻到。", "zh"),
        ("17:30", "Der Zug kommt um halb 6 an.", "de"),
    ],
)
def test_times_in_other_forms_are_right(minute, answer, target):
    assert fault_of("numbers", minute, answer, target) == ""


def test_wrong_times_and_units_are_found():
    assert "minutes lost" in fault_of("numbers", "17:20", "Der Zug kommt um 17.25 Uhr an.", "de")
    assert "minutes lost" in fault_of("numbers", "17:20", "火车下午5点半到。", "zh")
    assert "unit lost" in fault_of("numbers", "-23 °C", "Letzte Nacht waren es -23.", "de")
    assert fault_of("numbers", "-23 °C", "Last night it was minus 23 celsius.", "de") == ""


@pytest.mark.parametrize(
    ("text", "answer", "target"),
    [
        ("door is not open", "Die Tür ist verschlossen.", "de"),
        ("door is not open", "Die Tür ist abgeschlossen.", "de"),
        ("door is not open", "The door is locked.", "en"),
        ("doctor does not have", "The doctor is busy.", "en"),
        ("doctor does not have", "医生很忙。", "zh"),
        ("doctor does not have", "El médico está ocupado.", "es"),
        ("water is not cold", "L'eau est tiède.", "fr"),
        ("water is not cold", "Das Wasser ist heiß.", "de"),
    ],
)
def test_right_opposites_are_negations(text, answer, target):
    assert fault_of("negation", text, answer, target) == ""


@pytest.mark.parametrize(
    ("text", "answer", "target"),
    [
        ("not read the book", "她读这本小说呢。", "zh"),
        ("not very old", "这座房子非常旧。", "zh"),
        ("does not work here", "Your friend is busy here.", "en"),
        ("cat is not black", "Die Katze ist warm und schwarz.", "de"),
    ],
)
def test_opposites_of_other_sentences_are_no_negation(text, answer, target):
    assert fault_of("negation", text, answer, target) == "negation lost"


@pytest.mark.parametrize("language", languages_with_texts())
def test_plain_sentences_have_no_word_that_negates(language):
    texts = behaviour_texts(language)
    rows = zip(texts.sentences, texts.opposites, strict=True)
    assert [plain for (plain, _), pattern in rows if is_negated(plain, language, pattern)] == []


def test_chinese_months_in_words():
    pair = {month: f"会议在2005年{word}月15日举行。" for month, word in enumerate("一二三四五六七八九十", 1)}
    for month, name in enumerate(behaviour_texts("en").months[:10], 1):
        for seen in (month, month % 10 + 1):
            assert (dates_fault(CodePair("en", "zh"), (15, month, 2005), name, [pair[seen]]) == "") == (seen == month)
    assert dates_fault(CodePair("en", "zh"), (15, 2, 2005), "", ["2005年十二月15日"])


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
