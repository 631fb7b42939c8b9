"""Each sentence of a document with its window."""

import pytest

from regard.data.readers import READERS
from regard.errors import DataError
from regard.registry import Choice

COLUMNS = ("source", "document", "target")
LINES = "a\t1\teins\tone\na\t2\tzwei\ttwo\na\t3\tdrei\tthree\nb\t1\tvier\tfour\n"
FIELDS = {"document": 1, "source": 3, "target": 4}


def reader(path, text=LINES, columns=COLUMNS, **settings):
    path.write_text(text, encoding="utf-8")
    return READERS.build(Choice("document_sentences", {"file": str(path), **settings}), columns)


def test_windows_end_where_documents_end(tmp_path):
    found = reader(tmp_path / "talks.tsv", fields=FIELDS, window=2)
    assert [(one.line, *one.texts.values()) for one in found] == [
        (1, "eins", "eins\tzwei", "one"),
        (2, "zwei", "eins\tzwei", "two"),
        (3, "drei", "drei", "three"),
        (4, "vier", "vier", "four"),
    ]


def test_documents_stay_together(tmp_path):
    found = reader(tmp_path / "talks.tsv", fields=FIELDS)
    assert [key for key, _ in found.grouped()] == ["a", "a", "a", "b"]


def test_windows_of_another_size_are_other_data(tmp_path):
    path = tmp_path / "talks.tsv"
    assert reader(path, fields=FIELDS, window=2).key() != reader(path, fields=FIELDS, window=3).key()


def test_fields_stand_in_the_order_of_the_columns_by_default(tmp_path):
    (one,) = reader(tmp_path / "talks.tsv", "a\teins\tone\n")
    assert one.texts == {"source": "eins", "document": "eins", "target": "one"}


def test_a_line_without_fields_is_told(tmp_path):
    with pytest.raises(DataError, match=r"talks\.tsv:1: 1 field, 3 are read"):
        list(reader(tmp_path / "talks.tsv", "eins\n"))
