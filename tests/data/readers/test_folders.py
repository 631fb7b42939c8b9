"""A folder for each label, a file for each text."""

import gzip
from pathlib import Path

import pytest

from regard.data.readers.folders import FoldersReader
from regard.errors import DataError, PartError

COLUMNS = ("text", "label")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for label, name, text in (
        ("pos", "b.txt", "so\r\ngood\n"),
        ("pos", "a.txt", ""),
        ("neg", "1", "bad"),
        (".x", "1", "no"),
    ):
        (tmp_path / label).mkdir(exist_ok=True)
        (tmp_path / label / name).write_bytes(text.encode())
    (tmp_path / "neg" / "2.txt.gz").write_bytes(gzip.compress("née\n".encode()))
    (tmp_path / "neg" / ".hidden").write_text("no")
    (tmp_path / "README").write_text("no")
    return tmp_path


def test_files_are_texts_and_folders_their_labels(folder):
    reader = FoldersReader(COLUMNS, folder=str(folder))
    found = [(line, texts["text"], texts["label"]) for line, texts in reader]
    assert found == [(1, "bad", "neg"), (2, "née", "neg"), (3, "", "pos"), (4, "so good", "pos")]
    assert [path.name for path in reader.files] == ["1", "2.txt.gz", "a.txt", "b.txt"]


def test_a_renamed_folder_is_another_key(folder):
    before = FoldersReader(COLUMNS, folder=str(folder)).key()
    (folder / "pos").rename(folder / "positive")
    assert FoldersReader(COLUMNS, folder=str(folder)).key() != before


def test_a_folder_of_anything_else_is_told(folder):
    for other in (folder / "pos", folder / "missing"):
        with pytest.raises(DataError, match=r"has no folders with files|cannot be read"):
            FoldersReader(COLUMNS, folder=str(other))
    with pytest.raises(PartError, match="source, target, label"):
        FoldersReader(("source", "target", "label"), folder=str(folder))


def test_messages_name_the_folder_and_its_labels(folder):
    assert FoldersReader(COLUMNS, folder=str(folder)).names == [f"{folder.name} (label of 2: neg, pos)"]
