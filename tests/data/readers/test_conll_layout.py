"""Where words and tags stand in files of CoNLL columns."""

import pytest

from regard.data.readers.conll import conll_layout
from regard.errors import DataError

COLUMNS = ("text", "tags")


def places(folder, rows, like=None):
    path = folder / "some.conll"
    path.write_text("".join(f"{row}\n" for row in rows))
    return conll_layout(path, COLUMNS, like)


@pytest.mark.parametrize(
    ("rows", "fields", "labels"),
    [
        (["a\tDET", "dog\tNOUN"], (1, 2), ("DET", "NOUN")),
        (["a\tDET\tDT", "dog\tNOUN\tNN"], (1, 2), ("DET", "NOUN")),  # universal tags before those of the treebank
        (["-DOCSTART- O", "", "EU NNP B-NP B-ORG", "buys VBZ B-VP O"], (1, 4), ("B-ORG", "O")),
        (["EU X B", "buys X I"], (1, 3), ("B", "I")),
        (["1\tdo\t_\tAUX" + 6 * "\t_", "1-2\tdon't" + 8 * "\t_"], (2, 4), ("AUX", "_")),
        (["EU\tNNP", "of"], (1, 2), ("NNP",)),  # the reader tells of the broken row
    ],
)
def test_fields_follow_from_the_rows(tmp_path, rows, fields, labels):
    found = places(tmp_path, rows)
    assert (found.fields, found.header, found.labels) == (dict(zip(COLUMNS, fields, strict=True)), False, labels)
    assert found.settings() == {"fields": found.fields}


def test_other_parts_have_the_fields_of_the_first(tmp_path):
    found = places(tmp_path, ["a\tX\tO"], like={"text": 1, "tags": 2})
    assert (found.fields, found.labels) == ({"text": 1, "tags": 2}, ("X",))


def test_an_empty_file_is_told(tmp_path):
    with pytest.raises(DataError, match=r"some\.conll: the file is empty"):
        places(tmp_path, [])


def test_a_file_of_empty_lines_is_told(tmp_path):
    with pytest.raises(DataError, match=r"some\.conll: has no words, only empty lines"):
        places(tmp_path, ["", ""])
