"""Lines with their numbers: documents that have no other name."""

import pytest

from regard.data.readers import READERS
from regard.errors import ConfigError, DataError
from regard.registry import Choice


def read(path, columns=("text", "document")):
    return READERS.build(Choice("numbered", {"file": str(path)}), columns)


def test_each_line_is_named_by_its_number(tmp_path):
    (tmp_path / "text").write_text("one\n\n two three\n", encoding="utf-8")
    reader = read(tmp_path / "text")
    wanted = [("one", "1"), ("", ""), (" two three", "3")]  # an empty line is no document
    assert [tuple(texts.values()) for _, texts in reader] == wanted
    assert [line for line, _ in reader] == [1, 2, 3]
    assert reader.files == (tmp_path / "text",)


def test_a_missing_file_and_other_columns_are_refused(tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        list(read(tmp_path / "none"))
    with pytest.raises(ConfigError, match="reads a line and its number, and the task reads text"):
        read(tmp_path / "none", ("text",))
