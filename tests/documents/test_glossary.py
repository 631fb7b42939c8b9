"""Glossaries: what is read, what is refused, and where terms stand."""

import random

import pytest

from regard.documents.glossary import Entry, Glossary, uses
from regard.documents.text_spans import word_spans
from regard.errors import DataError


def found(lines, text):
    return [(text[one.start : one.end], one.entry.targets) for one in Glossary.of_lines(lines).found(text)]


def used(lines, source, text):
    told = uses(Glossary.of_lines(lines).found(source), text)
    return [one.target_place and text[slice(*one.target_place)] for one in told]


def test_a_file_is_read(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_bytes("\ufeffdog\tHund|Köter \r\n\r\nIBM\nhot dog\tWurst\ndog\tHund|Köter\n".encode())
    glossary = Glossary.read(path)
    assert glossary.entries == [Entry("dog", ("Hund", "Köter")), Entry("IBM", ("IBM",)), Entry("hot dog", ("Wurst",))]
    assert Glossary.of_lines(glossary.lines()).entries == glossary.entries
    assert len(glossary) == 3


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"dog\tHund\n\tKatze\n", ":2: the source is empty"),
        (b"dog\t\n", ":1: the target is empty"),
        (b"dog\tHund|\n", ":1: the target is empty"),
        (b"dog\tHund\ncat\tKatze\ndog\tK\xc3\xb6ter\n", ":3: 'dog' is translated otherwise than in line 1"),
        (b"dog\tHund\tnoun\n", ":1: 3 columns"),
        (b"dog\tHund\nm\xfcde\ttired\n", ":2: byte 2 of the line is not UTF-8"),
        ("dog\tHund\nl'\x92art\tKunst\n".encode(), ":2: holds the control character U+0092"),
        (b"dog=Hund\nIBM\n", ":1: 'dog=Hund' is a term to copy or a term with its translation"),
        (b"dog,Hund;a\n", ":1: each line has a comma and a semicolon"),
        (b"dog,Hund,noun\n", ":1: 3 columns"),
        (b'dog,Hund\ncat,"Katze\nfox,Fuchs\n', ":2: is not CSV with ','"),
        (b"dog = Hund = Tier\n", ":1: 3 columns"),
        (b"<?xml version='1.0'?><martif><text><body><termEntry>", ":1: not TBX"),
        (b"<!DOCTYPE martif [<!ENTITY a 'b'>]><martif/>", ":1: the DOCTYPE of 'martif' has declarations"),
        (
            b"<tbx><conceptEntry><langSec xml:lang='en'><term>a</term></langSec></conceptEntry></tbx>",
            ": has terms in 1 languages",
        ),
        (b"dog\tHund\ncat = Katze\n", ":2: 'cat = Katze': '=' does not separate"),
        (b"dog\tHund\ncat;Katze\n", ":2: 'cat;Katze': ';' does not separate"),
        (b"dog\tHund\ncat,Katze\n", ":2: 'cat,Katze': ',' does not separate"),
        (b"dog | Hund\n", ":1: 'dog | Hund': '|' does not separate"),
        (b"dog: Hund\ncat: Katze\n", ":1: 'dog: Hund': ':' does not separate"),
        (b"dog - Hund\n", ":1: 'dog - Hund': '-' does not separate"),
        (b"PK\x03\x04\x00\x00\tHund\n", ":1: holds signs that cannot be written"),
    ],
)
def test_what_is_no_glossary_is_told_in_one_line(tmp_path, data, told):
    path = tmp_path / "terms.tsv"
    path.write_bytes(data)
    with pytest.raises(DataError) as refused:
        Glossary.read(path)
    assert f"terms.tsv{told}" in str(refused.value)
    assert "\n" not in str(refused.value)


DOG = [Entry("dog", ("Hund", "Köter")), Entry("hot dog", ("Wurst",))]


@pytest.mark.parametrize(
    "text",
    [
        "dog\tHund|Köter\nhot dog\tWurst",
        "dog = Hund|Köter\nhot dog = Wurst\n",
        "dog=Hund|Köter\r\nhot dog=Wurst\r\n",
        "dog → Hund | Köter\nhot dog -> Wurst",
        "dog,Hund|Köter\nhot dog,Wurst",
        "Source Term,Target Term\ndog,Hund|Köter\nhot dog,Wurst",
        "source;target\n\ndog;Hund|Köter\nhot dog;Wurst",
        'EN,de\n"dog","Hund|Köter"\nhot dog,Wurst',
        'dog;Hund|Köter\n"hot dog";Wurst',
    ],
)
def test_one_parser_reads_all_formats_of_lines(text):
    assert Glossary.of_text(text, languages=("en", "de")).entries == DOG


def test_lists_of_names_may_have_commas_and_equals_signs_between_spaces():
    assert Glossary.of_text("Regard\nWashington, D.C.").entries[1] == Entry("Washington, D.C.", ("Washington, D.C.",))
    assert Glossary.of_text("24-hour\nhttp://a.b\nSt. John's\n1,000").entries[3] == Entry("1,000", ("1,000",))
    assert Glossary.of_text("IBM\ndog = Hund").entries == [Entry("IBM", ("IBM",)), Entry("dog", ("Hund",))]


TBX = """<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX"><text><body>{}</body></text></martif>"""
OLD = """<termEntry id="c{}"><langSet xml:lang="{}"><tig><term>{}</term></tig></langSet>
<langSet xml:lang="{}"><ntig><termGrp><term>{}</term></termGrp></ntig></langSet></termEntry>"""
NEW = """<tbx xmlns="urn:iso:std:iso:30042:ed-2" xml:lang="en"><text><body><conceptEntry id="1">
<langSec xml:lang="de"><termSec><term>Hund</term></termSec><termSec><term>K\u00f6ter</term></termSec></langSec>
<langSec xml:lang="en-GB"><termSec><term>dog</term></termSec></langSec>
<langSec xml:lang="fr"><termSec><term>chien</term></termSec></langSec></conceptEntry></body></text></tbx>"""


def test_tbx_gives_the_terms_of_two_languages():
    old = OLD.format(1, "en", "dog", "de", "Hund") + OLD.format(2, "de", "K\u00f6ter", "en", "dog")
    old += OLD.format(3, "en", "hot\n  <hi>dog</hi>", "de-AT", "Wurst")
    assert Glossary.of_text(TBX.format(old), languages=("en", "de")).entries == DOG
    assert Glossary.of_text(NEW, languages=("en", "de")).entries == DOG[:1]
    assert Glossary.of_text(NEW, languages=("fr", "en")).entries == [Entry("chien", ("dog",))]
    with pytest.raises(DataError, match=r"has no terms in 'zh'.*de, en-gb, fr"):
        Glossary.of_text(NEW, languages=("en", "zh"))


def test_the_hint_for_two_translations_can_be_pasted():
    with pytest.raises(DataError, match=r"dog TAB Hund\|Köter"):
        Glossary.of_lines(["dog\tHund", "dog\tKöter"])


def test_the_longest_term_counts_and_none_overlaps_another():
    lines = ["dog\tHund", "hot dog\tWurst", "hot dog stand\tImbiss", "dog stand\tGestell"]
    assert found(lines, "a hot dog stand") == [("hot dog stand", ("Imbiss",))]
    assert found(lines, "a hot dog, a dog") == [("hot dog", ("Wurst",)), ("dog", ("Hund",))]


@pytest.mark.parametrize(
    ("text", "count"),
    [("dog", 1), ("Dog", 0), ("a dog's life", 0), ("dogs", 0), ("sheepdog", 0), ("(dog)", 1), ("dog dog", 2)],
)
def test_only_whole_words_as_they_are_written(text, count):
    assert len(found(["dog\tHund"], text)) == count


def test_scripts_without_spaces_have_no_words_to_break():
    assert found(["好\tgut"], "你好吗") == [("好", ("gut",))]


def test_each_term_needs_a_place_of_its_own_in_the_translation():
    assert used(["dog\tHund"], "dog dog", "Ein Hund und ein Hund") == ["Hund", "Hund"]
    assert used(["dog\tHund"], "dog dog", "Ein Hund") == ["Hund", None]
    assert used(["dog\tHund", "house\tHund Haus"], "dog house", "Ein Hund Haus") == [None, "Hund Haus"]
    assert used(["dog\tKöter|Hund"], "dog", "Ein Hund.") == ["Hund"]


@pytest.mark.parametrize(
    ("text", "used_"), [("Hunde", None), ("Schäferhund", None), ("Hund.", "Hund"), ("„Hund“", "Hund")]
)
def test_a_translation_is_used_as_whole_words(text, used_):
    assert used(["dog\tHund"], "dog", text) == [used_]


def longest_terms(entries, text):
    """Every term is tried at every word that no term before it has taken."""
    spans, behind, found = word_spans(text), 0, []
    ends = {span.end for span in spans}
    for start, _ in spans:
        fit = [one for one in entries if text.startswith(one, start) and start + len(one) in ends]
        if start >= behind and fit:
            behind = start + max(map(len, fit))
            found.append((start, behind))
    return found


def test_terms_stand_where_trying_all_of_them_finds_them():
    draws = random.Random(4)
    words = ["a", "b", "a-b", "c.", "(d)", "猫", "e'", "f", "naïve"]
    for _ in range(100):
        terms = {draws.choice([" ", ""]).join(draws.choices(words, k=draws.randint(1, 4))) for _ in range(12)}
        texts = [draws.choice([" ", "", "  "]).join(draws.choices(words, k=30)) for _ in range(4)]
        glossary = Glossary(Entry(term, (term,)) for term in terms)
        some = glossary.within(texts[:2])
        for text in texts:
            places = [(one.start, one.end) for one in glossary.found(text)]
            assert places == longest_terms(terms, text)
            if text in texts[:2]:
                assert [(one.start, one.end) for one in some.found(text)] == places


def test_each_of_a_thousand_uses_has_a_place_of_its_own():
    glossary, count = Glossary.of_lines(["old\talt"]), 1000
    told = uses(glossary.found("old " * count), "alt " * (count - 1))
    places = [one.target_place for one in told]
    assert places == [*([4 * number, 4 * number + 3] for number in range(count - 1)), None]


def test_the_terms_of_a_concept_are_limited():
    """Each of the source would get all of the target: the square of what is sent."""
    sides = ("".join(f"<tig><term>{side}{number}</term></tig>" for number in range(201)) for side in "ab")
    old = "<termEntry><langSet xml:lang='en'>{}</langSet><langSet xml:lang='de'>{}</langSet></termEntry>".format(*sides)
    with pytest.raises(DataError, match="201 terms of one concept"):
        Glossary.of_text(TBX.format(old), languages=("en", "de"))


def test_long_runs_of_spaces_are_read_in_linear_time():
    """In quadratic time these would take minutes."""
    assert len(Glossary.of_text("a" + " " * 200_000 + "b")) == 1
    with pytest.raises(DataError, match="not TBX"):
        Glossary.of_text("<?xml" + " " * 200_000)


def test_a_line_with_a_tab_is_no_tbx():
    assert Glossary.of_text("<?xml\tXML\n<tbx>\tTBX").lines() == ["<?xml\tXML", "<tbx>\tTBX"]
