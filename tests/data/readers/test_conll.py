"""CoNLL columns: sentences of words with tags, and what stands between them."""

import gzip

import pytest

from regard.data.readers import READERS
from regard.data.readers.conll import conll_layout
from regard.errors import DataError
from regard.registry import Choice

COLUMNS = ("text", "tags")
DOG = (1, "a dog", "DET NOUN")


def read(folder, lines, name="conll", columns=COLUMNS, **settings):
    path = folder / "some.conll"
    path.write_text("\n".join(lines), encoding="utf-8")
    row = READERS.find(name)
    reader = READERS.build(Choice(row.name, {**row.settings, "file": str(path), **settings}), columns)
    return [(line, *texts.values()) for line, texts in reader]


def conllu(number, word, tag):
    return "\t".join([number, word, "_", tag, *"______"])


@pytest.mark.parametrize("between", [[""], ["", "", ""], ["   "], ["\t"]])
def test_blank_lines_part_sentences(tmp_path, between):
    lines = ["a\tDET", "dog\tNOUN", *between, "yes\tINTJ"]
    assert read(tmp_path, lines) == [DOG, (3 + len(between), "yes", "INTJ")]


@pytest.mark.parametrize("end", [[], [""], ["", ""]])
@pytest.mark.parametrize("start", [[], [""], ["# new file", ""]])
def test_ends_of_a_file_make_no_sentences(tmp_path, start, end):
    found = read(tmp_path, [*start, "a\tDET", "dog\tNOUN", *end])
    assert [row[1:] for row in found] == [DOG[1:]]


def test_packed_files_read_alike_and_as_often_as_asked(tmp_path):
    path = tmp_path / "some.conll.gz"
    path.write_bytes(gzip.compress(b"a\tDET\r\ndog\tNOUN\r\n"))
    reader = READERS.build(Choice("conll", {"file": str(path)}), COLUMNS)
    assert list(reader) == list(reader) == [(1, {"text": "a dog", "tags": "DET NOUN"})]
    assert (reader.columns, reader.files) == (COLUMNS, (path,))


def test_spaces_part_fields_where_there_are_no_tabs(tmp_path):
    document = "-DOCSTART- -X- O O"
    lines = [document, "", "EU NNP B-NP B-ORG", "rejects  VBZ B-VP O", "", document, "", "a b c d"]
    found = read(tmp_path, lines, "conll2003", fields={"text": 1, "tags": 4})
    assert found == [(3, "EU rejects", "B-ORG O"), (8, "a", "d")]


def test_a_tab_in_the_first_row_makes_spaces_part_of_words(tmp_path):
    assert read(tmp_path, ["10 000\tNUM", "euros\tNOUN"]) == [(1, "10_000 euros", "NUM NOUN")]


def test_a_delimiter_may_be_named(tmp_path):
    assert read(tmp_path, ["a|DET", "dog|NOUN"], delimiter="|") == [DOG]


def test_conllu_leaves_out_comments_ranges_and_empty_nodes(tmp_path):
    lines = [
        "# sent_id = 1",
        "# text = don't go",
        conllu("1-2", "don't", "_"),
        conllu("1", "do", "AUX"),
        conllu("2", "n't", "PART"),
        conllu("2.1", "you", "PRON"),
        conllu("3", "go", "VERB"),
        "",
        conllu("1", "#", "SYM"),
    ]
    assert read(tmp_path, lines, "conllu") == [(4, "do n't go", "AUX PART VERB"), (9, "#", "SYM")]


def test_words_that_look_like_numbers_of_ranges_are_words(tmp_path):
    """Where no field is left for numbers, 3.5 and 2003-04 are words."""
    assert read(tmp_path, ["3.5\tNUM", "2003-04\tNUM"]) == [(1, "3.5 2003-04", "NUM NUM")]


def test_a_word_that_begins_with_a_hash_is_no_comment(tmp_path):
    lines = ["# a comment", "#tag\tX", "#\tSYM", "", "#\tSYM"]
    assert read(tmp_path, lines) == [(2, "#tag #", "X SYM"), (5, "#", "SYM")]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("dog", r"some\.conll:2: fields: 1; 'tags' is field 2 .*an empty line between sentences"),
        ("dog\t", r"some\.conll:2: field 2, 'tags', is empty"),
        ("\tNOUN", r"some\.conll:2: field 1, 'text', is empty"),
    ],
)
def test_a_broken_row_is_named_with_file_and_line(tmp_path, row, problem):
    with pytest.raises(DataError, match=problem):
        read(tmp_path, ["a\tDET", row, "runs\tVERB"])


@pytest.mark.parametrize("row", ["a X", "a"])
def test_a_first_row_without_the_delimiter_is_named(tmp_path, row):
    with pytest.raises(DataError, match=r"some\.conll:1: fields: 1;"):
        read(tmp_path, [row], delimiter="\t")


def test_a_task_of_other_columns_names_its_fields(tmp_path):
    rows = ["w\tPOS\tB-X"]
    assert read(tmp_path, rows, columns=("text", "pos", "tags")) == [(1, "w", "POS", "B-X")]


def test_settings_that_change_what_is_read_change_the_key(tmp_path):
    settings = ({}, {"fields": {"text": 2, "tags": 4}}, {"delimiter": " "})
    assert len({READERS.build(Choice("conll", {"file": "x", **each}), COLUMNS).key() for each in settings}) == 3


def test_missing_and_empty_files_are_told(tmp_path):
    with pytest.raises(DataError, match=r"some\.conll: the file is empty"):
        read(tmp_path, [])
    with pytest.raises(DataError, match="there is no such file"):
        list(READERS.build(Choice("conll", {"file": str(tmp_path / "none")}), COLUMNS))


def test_conllu_without_fields_has_its_words_and_universal_tags(tmp_path):
    rows = [conllu("1-2", "don't", "_"), conllu("1", "do", "AUX"), conllu("2", "n't", "PART")]
    assert read(tmp_path, rows) == [(2, "do n't", "AUX PART")]
    assert read(tmp_path, rows[1:], fields={"text": 2, "tags": 3}) == [(1, "do n't", "_ _")]
    assert read(tmp_path, ["\t".join("abcdefghij")]) == [(1, "a", "b")]  # ten fields, and no number


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
