"""Corrections as the server writes them: of one pair of languages, the last one of each text."""

import json

import pytest

from regard.data.readers.suggestions import SuggestionsReader, holds_suggestions
from regard.errors import DataError

LINES = [
    ("Good morning!", "Bonjour", "en", "fr"),
    ("Bonjour", "Hello", "fr", "en"),
    ("Good day", "Guten Tag", "en", "de"),
    ("Thanks.\n\nGoodbye.", "Merci.\nAu revoir.", "en", "fr"),
    ("One.\nTwo.", "Un, deux.", "en", "fr"),
    ("Good morning!", "Bonjour !", "en", "fr"),
]


def write(path, lines=LINES):
    rows = [json.dumps(dict(zip(("q", "s", "source", "target"), line, strict=True))) for line in lines]
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return str(path)


def read(file, **settings):
    return [(line, *texts.values()) for line, texts in SuggestionsReader(("a", "b"), file=file, **settings)]


def test_last_correction_of_each_text_in_one_direction(tmp_path):
    found = read(write(tmp_path / "better.jsonl"), languages=("en", "fr"))
    assert found == [
        (4, "Thanks.", "Merci."), (4, "Goodbye.", "Au revoir."), (5, "One. Two.", "Un, deux."),
        (6, "Good morning!", "Bonjour !"),
    ]  # fmt: skip
    assert read(write(tmp_path / "better.jsonl")) == found  # the first line has these languages
    assert read(write(tmp_path / "better.jsonl"), languages=("fr", "en")) == [(2, "Bonjour", "Hello")]


def test_summary_counts_what_is_left_out(tmp_path):
    said = SuggestionsReader(("a", "b"), file=write(tmp_path / "better.jsonl"), languages=("en", "fr")).summary()
    assert "4 corrections en → fr" in said
    assert "1 of fr → en, 1 of en → de, 1 corrected again later" in said


def test_no_correction_of_these_languages_is_refused(tmp_path):
    with pytest.raises(DataError, match="en-fr"):
        read(write(tmp_path / "better.jsonl"), languages=("cs", "fr"))


def test_a_line_of_a_killed_server_is_left_out(tmp_path):
    file = write(tmp_path / "better.jsonl")
    with open(file, "a", encoding="utf-8") as damaged:
        damaged.write('{"q": "half a li\n{"q": 1}\n')
    assert "2 damaged lines (7, 8)" in SuggestionsReader(("a", "b"), file=file).summary()
    assert len(read(file)) == 4


@pytest.mark.parametrize("damage", ['{"q": "half a li', '{"q": 1}', '{"source": "a", "target": "b"}', "half a line}"])
def test_a_damaged_first_line_leaves_the_format(damage, tmp_path):
    file = write(tmp_path / "better.jsonl")
    text = (tmp_path / "better.jsonl").read_text("utf-8")
    (tmp_path / "better.jsonl").write_text(f"{damage}\n{text}", encoding="utf-8")
    assert holds_suggestions(tmp_path / "better.jsonl")
    assert "1 damaged line (1)" in SuggestionsReader(("a", "b"), file=file, languages=("en", "fr")).summary()
    assert len(read(file, languages=("en", "fr"))) == 4


def test_format_is_known_by_its_fields(tmp_path):
    path = tmp_path / "x.jsonl"
    write(path)
    assert holds_suggestions(path)
    path.write_text('{"source": "a", "target": "b"}\n', encoding="utf-8")
    assert not holds_suggestions(path)
    path.write_text('{"source": "a", "target": "b"}\n' * 3 + path.read_text("utf-8"), encoding="utf-8")
    assert not holds_suggestions(path)
    path.write_text("not json\n", encoding="utf-8")
    assert not holds_suggestions(path)
    path.write_text("", encoding="utf-8")
    assert not holds_suggestions(path)
    assert not holds_suggestions(tmp_path / "missing.jsonl")
