"""Numerals come out whole, with sign and unit, whatever a translator writes; what is lost or new is warned of."""

import io
import re

import docx
import numerals
import pytest
from hostile import all_translated, shouted
from hypothesis import given, settings
from hypothesis import strategies as st
from processor_time import within

from regard.documents.files import file_document, text_document
from regard.documents.numeral_faults import compared, numeral_warning
from regard.documents.numerals import readable_form
from regard.documents.placeholders import placeholders
from regard.documents.unknown_words import copy_unknown_words
from regard.results import Explanation, Prediction, TermReport, TermUse, TextPrediction

WHOLE = (
    "-5 °C", "−5", "+20 %", "20 %", "+33 1 23 45 67 89", "(030) 123-4567", "€1,234.56", "1.234,56 €", "$5",
    "12/31/2024", "2024-12-31", "3×4", "3 x 4", "1/2", "½", "5-10", "10:30", "5 p.m.", "v2.1-rc3", "#12", "№ 5",
    "10³", "1e-5", "π≈3.14", "100km/h", "20°", "5′", "978-3-16-148410-0", "0-8044-2957-X", "192.168.0.1", "１２３",
    "5℃", "３％", "二〇二四年12月31日", "¥100", "５～１０", "COVID-19", "MP3", "H₂O", "-$5", "US$5", "5 km", "5pm",
    "10 000", "1 234 567,89", "1'234.50", "3½", "p < 0.05", "10:30-11:45", "2001:db8::1", "48°51′24″N",
    "550e8400-e29b-41d4-a716-446655440000", "DE89 3704 0044 0532 0130 00", "3×10⁸ m/s", "2024-12-31T23:59:59Z",
)  # fmt: skip


def parts(text: str) -> list[str]:
    return [text[each.start : each.end] for each in placeholders(text) if each.numeral]


@pytest.mark.parametrize("numeral", WHOLE)
def test_a_numeral_is_found_whole(numeral):
    for text in ("see {} now", "({})", "{0}, {0}!", "这是{}。", "it is {}."):
        assert set(parts(text.format(numeral))) == {numeral}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the 1990s, a 3rd and le 2ème", []),
        ("a 5-year-old boy", ["5"]),
        ("5 apples - 6 pears, 5 a day", ["5", "6", "5"]),
        ("He is 5. Then 7, too", ["5", "7"]),
        ("in 2010 300 people", ["2010", "300"]),
        ("he said–5 times", ["5"]),
        ("十二月三日, 5月", []),
        ("an MP3-player of 5's", ["MP3", "5"]),
    ],
)
def test_words_are_no_numerals(text, found):
    assert parts(text) == found


def test_a_model_reads_a_short_number():
    found = text_document("The price is €1,234.56 at 5 p.m., or -5 °C on 12/31/2024. The MP3 has 3 songs.")
    assert found.texts == ["The price is 1234 at 5, or 5 on 2024.", "The MP3 has 3 songs."]
    assert all(len(readable_form(one)) <= 9 for one in WHOLE)


@pytest.mark.parametrize("seed", range(3))
def test_no_numeral_is_lost_whatever_the_translator_writes(seed):
    for text, wanted in numerals.sentences(100, seed):
        found = text_document(text)
        (out,) = (found.rebuild(all_translated(found.texts, seed)),)
        assert numerals.lost(wanted, out) == [], out


def test_equal_readings_are_told_apart_by_their_links():
    found = text_document("5 % at -5 °C here")
    links = [(0, 2), (1, 1), (2, 0), (3, 3)]
    explained = Explanation.of_text(["5", "at", "5", "here"], ["5", "bei", "5", "hier"], links, [])
    prediction = Prediction(found.texts[0], "5 bei 5 hier", 0.0, explanation=explained)
    assert found.rebuild([prediction]) == "-5 °C bei 5 % hier"


@pytest.mark.parametrize(
    ("language", "source", "answer", "out"),
    [
        ("en", "It costs €1,234.56 now.", "Es kostet €1234 30 jetzt.", "Es kostet €1,234.56 jetzt."),
        ("en", "It rose by 20 % now.", "Es stieg um 20 % jetzt.", "Es stieg um 20 % jetzt."),
        ("en", "It has thirty of 20 km here.", "Es hat 30 von 20 hier.", "Es hat 30 von 20 km hier."),
        ("en", "It costs $5 with tax.", "Es kostet 5 mit 30 Steuer.", "Es kostet $5 mit Steuer."),
        ("en", "He came in March for $5.", "他在3月花了5。", "他在3月花了$5。"),  # Chinese numbers months
        ("en", "The 3rd has 20 km here.", "Der 3. hat 20 hier.", "Der 3. hat 20 km hier."),
        ("vi", "ba mươi 20 km", "thirty 30 20", "thirty 30 20 km"),  # a language whose number words are not known
    ],
)
def test_numbers_that_the_model_invents_are_left_out(language, source, answer, out):
    found = text_document(source, language=language)
    prediction = Prediction(found.texts[0], answer, 0.0)
    assert found.rebuild([prediction]) == out


@pytest.mark.parametrize(
    ("source", "answer", "lost", "new"),
    [
        ("It is -5 °C.", "Es ist 5 °C.", ["-5 °C"], ["5"]),
        ("I have 3 cats.", "Ich habe drei Katzen.", [], []),
        ("I have 355 cats.", "Ich habe drei Katzen.", ["355"], []),
        ("I have cats.", "Ich habe 30 Katzen.", [], ["30"]),
        ("I have thirty cats.", "Ich habe 30 Katzen.", [], []),
        ("我有三十只猫。", "I have 30 cats.", [], []),
        ("the 1990s", "die 1980er", ["1990"], []),
        ("It costs $5.", "Es kostet $5.", [], []),
    ],
)
def test_a_single_line_is_compared_with_its_source(source, answer, lost, new):
    (found,) = compared([Prediction(source, answer, 0.0)])
    assert [one for one in (*lost, *new) if f"'{one}'" not in found.warning] == []
    assert bool(found.warning) == bool(lost or new)


def test_a_kept_numeral_needs_no_warning():
    found = text_document("It is -5 °C. I have cats.", language="vi")
    one, other = found.checked(
        [Prediction(found.texts[0], "5 là", 0.0), Prediction(found.texts[1], "Tôi có 30 mèo", 0.0)]
    )
    assert (one.warning, "'30' is not a number" in other.warning) == ("", True)
    assert "'-5 °C'" in numeral_warning("It is", "5 °C", kept=["-5 °C"])


def test_digits_of_an_address_are_no_numbers():
    found = text_document("I have 3 dogs https://a.b/c?d=17", language="en")
    (one,) = found.checked([Prediction(text, "Ich habe Hunde", 0.0) for text in found.texts])
    assert one.warning == ""


def test_a_term_of_a_glossary_comes_before_a_numeral():
    found = text_document("The COVID-19 has 3 signs", language="en")
    report = TermReport([TermUse("COVID-19", ["Corona"], [4, 12], [3, 9])])
    prediction = TextPrediction(found.texts[0], "Das Corona hat 3 Zeichen", 0.0, terms=report)
    assert found.rebuild([prediction]) == "Das Corona hat 3 Zeichen"
    assert found.checked([prediction])[0].warning == ""


def test_a_stop_of_a_numeral_ends_its_sentence():
    found = text_document("We met at 5 p.m.")
    assert found.rebuild([Prediction(found.texts[0], "Wir trafen uns um 5.", 0.0)]) == "Wir trafen uns um 5 p.m."


def test_a_vocabulary_without_digits_is_not_asked_for_them():
    document = copy_unknown_words(text_document("He pays $5 for (10) dogs.", language="en"), frozenset("Hepaysforg."))
    assert not any(one.isdigit() for one in document.texts[0])
    out = document.rebuild(shouted(document.texts))
    assert (out.count("$5"), out.count("10")) == (1, 1)


def word_file(text: str) -> bytes:
    document, data = docx.Document(), io.BytesIO()
    document.add_paragraph(text)
    document.save(data)
    return data.getvalue()


def text_of(data: bytes, suffix: str) -> str:
    if suffix == ".docx":
        return "\n".join(one.text for one in docx.Document(io.BytesIO(data)).paragraphs)
    return data.decode()


@pytest.mark.parametrize("suffix", [".txt", ".srt", ".html", ".docx"])
def test_files_keep_numerals(suffix):
    text = "It is -5 °C and +20 %, call +33 1 23 45 67 89 before 5 p.m. for €1,234.56 now."
    data = {
        ".txt": text.encode(),
        ".srt": f"1\n00:00:01,000 --> 00:00:02,500\n{text.replace(', ', f',{chr(10)}')}\n\n".encode(),
        ".html": f"<p>{text}</p>".encode(),
        ".docx": word_file(text),
    }[suffix]
    found = file_document(data, suffix)
    for seed in range(5):
        predictions = all_translated(found.texts, seed)
        out = text_of(found.rebuild(predictions), suffix)
        for wanted in ("-5 °C", "+20 %", "+33 1 23 45 67 89", "5 p.m.", "€1,234.56"):
            assert wanted in out, (seed, out)
        assert len(found.checked(predictions)) == len(found.texts)


def test_a_power_in_markup_stays_one_numeral():
    found = text_document("<p>It has 10<sup>3</sup> parts</p>", "html")
    assert "10<sup>3</sup>" in found.rebuild(shouted(found.texts))


@pytest.mark.parametrize(
    "text",
    ["1 2" * 30_000, "$-" * 50_000, "1-" * 50_000, "A1-" * 30_000, "1 x " * 25_000, "5°1'" * 25_000, "+1 (" * 25_000],
)
def test_numerals_are_found_in_little_time(text):
    placeholders("warm")
    assert within(0.5, lambda: placeholders(text)) is not None


@settings(max_examples=200)
@given(st.text(st.sampled_from("aB. -+:/%$€°½①₂年月二〇#@{}<>5"), max_size=40))
def test_texts_without_a_numeric_character_are_read_faster_and_alike(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.documents.placeholders._NUMERIC", re.compile(""))  # found in every text
        expected = placeholders(text)
    assert placeholders(text) == expected
