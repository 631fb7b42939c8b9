"""Glossaries: what is read, what is refused, and where terms stand."""

import pytest

from regard.documents.glossary import Entry, Glossary, uses
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
        (b"dog,Hund\ncat,Katze\n", ":1: no line has a tab"),
        (b"IBM\ndog = Hund\n", ":2: has '=' where a tab belongs"),
        ("dog → Hund\n".encode(), ":1: has '→' where a tab belongs"),
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
