"""Windows of documents, and the same sentences in another order."""

from regard.data.readers import READERS
from regard.data.readers.label_table import holds_pairs, label_field, label_layout
from regard.data.readers.sentence_order import reordered
from regard.registry import Choice

LINES = "a\tone\na\ttwo\na\tthree\nb\tfour\nc\tsame\nc\tsame\nd\tfive\nd\tsix\n"


def reader(path, columns=("text", "label"), **settings):
    path.write_text(LINES, encoding="utf-8")
    return READERS.build(Choice("sentence_order", {"file": str(path), **settings}), columns)


def test_each_window_has_both_orders(tmp_path):
    found = [(one.line, *one.texts.values()) for one in reader(tmp_path / "talks.tsv", window=2)]
    assert found == [  # a window of one sentence, or of equal ones, has no other order
        (1, "one two", "original"),
        (1, "two one", "shuffled"),
        (7, "five six", "original"),
        (7, "six five", "shuffled"),
    ]


def test_another_order_has_the_same_sentences_and_is_drawn_by_them():
    sentences = ["one", "two", "three", "four"]
    found = reordered(sentences)
    assert found != sentences
    assert sorted(found) == sorted(sentences)
    assert reordered(sentences) == found


def test_documents_stay_together(tmp_path):
    assert [key for key, _ in reader(tmp_path / "talks.tsv").grouped()] == ["a", "a", "d", "d"]


def test_its_files_are_no_tables_of_labels(tmp_path):
    path = tmp_path / "talks.tsv"
    path.write_text(LINES, encoding="utf-8")
    assert label_layout(path, "sentence_order", ("text", "label")) is None
    assert label_field(path, "sentence_order") is None
    assert not holds_pairs(path, "sentence_order")
