"""The language of a text is detected."""

import pytest
from processor_time import within

from regard.documents.language_detection import Detector

SAID = {
    "en": "Two men are playing football in the park.",
    "de": "Zwei Männer spielen im Park Fußball.",
    "fr": "Deux hommes jouent au football dans le parc.",
    "es": "Dos hombres juegan al fútbol en el parque.",
    "vi": "Hai người đàn ông đang chơi bóng đá trong công viên.",
    "zh": "两个男人在公园里踢足球。",
    "ja": "二人の男性が公園でサッカーをしています。",
    "ru": "Двое мужчин играют в футбол в парке.",
    "ar": "رجلان يلعبان كرة القدم في الحديقة.",
}


@pytest.fixture(scope="module")
def detector():
    return Detector(["en", "de", "zh"])


@pytest.mark.parametrize("language", SAID)
def test_languages_served_and_others(detector, language):
    found = detector.detect(SAID[language])
    assert found[0][0] == language and 50 < found[0][1] <= 100
    assert 1 <= len(found) <= 3
    assert [confidence for _, confidence in found] == sorted((confidence for _, confidence in found), reverse=True)
    assert sum(confidence for _, confidence in found) <= 100.2


@pytest.mark.parametrize("text", ["", " \n", "😀", "12 + 3", "https://example.com/the/garden", "%s {name}"])
def test_text_without_words_has_no_language(detector, text):
    assert detector.detect(text) == []


def test_links_are_ignored(detector):
    assert (
        detector.detect("https://www.example.com/this-is-the-english-garden {name} Schöne Grüße aus dem Garten")[0][0]
        == "de"
    )


@pytest.mark.parametrize("text", ["x" * 100_000, "\ud800 a", "\0a", "e\u0301" * 10_000, "字" * 100_000, "1" * 100_000])
def test_any_text_takes_little_time(detector, text):
    assert len(within(0.5, lambda: detector.detect(text))) <= 3


def test_a_sentence_takes_less_than_five_milliseconds(detector):
    def a_hundred_sentences():
        for _ in range(100 // len(SAID) + 1):
            found = {language: detector.detect(text)[0][0] for language, text in SAID.items()}
        return found

    detector.detect("warm up")
    found = within(0.5, a_hundred_sentences)
    assert found == {language: language for language in SAID}


def test_served_languages_are_favoured(detector):
    text = "Alle redet"
    served = dict(detector.detect(text))
    detector.languages, kept = frozenset(), detector.languages
    others = dict(detector.detect(text))
    detector.languages = kept
    assert served.get("de", 0) > others.get("de", 0)
