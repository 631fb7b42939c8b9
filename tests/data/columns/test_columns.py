"""Columns: values → ids → tensors and back, learnt, saved and loaded."""

import pytest
import torch

from regard.data.columns import COLUMNS, TextColumn, learn_columns, load_columns, save_columns, small_columns
from regard.data.columns.label import LabelColumn
from regard.data.columns.labels import LabelsColumn
from regard.data.columns.sentences import SentencesColumn, sentences_in
from regard.data.examples import Example
from regard.errors import CheckpointError, DataError
from regard.records import EOS, PAD
from regard.registry import Choice
from regard.text import train_tokenizer

CHARACTERS = Choice("characters")
KINDS = {"source": "text", "target": "text", "label": "label", "tags": "labels"}
TEXTS = {"source": ["a cat", "two dogs"], "target": ["eine Katze", "zwei Hunde"], "label": ["one", "two"]}
TEXTS |= {"tags": ["DET NOUN", "NUM NOUN"]}
EXAMPLES = [Example(number + 1, {name: values[number] for name, values in TEXTS.items()}) for number in (0, 1)]


@pytest.mark.parametrize("kind", sorted(COLUMNS))
def test_values_survive_encoding_saving_and_loading(kind, tmp_path):
    row = COLUMNS[kind]
    column = row.learn(row.examples, CHARACTERS)
    column.save(tmp_path)
    again = row.load(tmp_path)
    assert (len(again), again.key()) == (len(column), column.key())
    for value in row.examples:
        ids = column.encode(value)
        assert ids == again.encode(value) == column.encode_batch([value])[0]
        assert all(0 <= one < len(column) for one in ids)
        assert column.decode(ids) == value


@pytest.mark.parametrize("kind", sorted({*COLUMNS} - {"document", "label", "label_set", "labels", "number"}))
def test_what_models_are_tried_with_is_a_value_of_about_that_size(kind):
    row = COLUMNS[kind]
    column = row.learn([row.repeated(value, 9) for value in row.examples], CHARACTERS)
    few, many = (len(column.encode(column.spread(count))) for count in (2, 20))
    assert 2 <= few < 10 <= many <= 40


@pytest.mark.parametrize("kind", sorted(COLUMNS))
def test_damaged_vocabulary_is_told(kind, tmp_path):
    row = COLUMNS[kind]
    with pytest.raises(CheckpointError):
        row.load(tmp_path)
    row.learn(row.examples, CHARACTERS).save(tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(b"\xff{")
    with pytest.raises(CheckpointError):
        row.load(tmp_path)


def test_one_label_is_one_number():
    column = LabelColumn.learn(["pos", "neg ", "pos"], CHARACTERS)
    assert column.labels == ("neg", "pos")
    assert torch.equal(column.collate([[1], [0], [1]]), torch.tensor([1, 0, 1]))


def test_labels_are_padded_and_nothing_ends_them():
    column = LabelsColumn.learn(["B I O", "O"], CHARACTERS)
    items, mask = column.collate([column.encode("B I O"), column.encode("O")])
    assert items.tolist() == [[1, 2, 3], [3, PAD, PAD]]
    assert mask.tolist() == [[True, True, True], [True, False, False]]


def test_a_text_ends_with_the_end_symbol():
    column = small_columns({"text": "text"}, shared=True)["text"]
    items, mask = column.collate([column.encode("ab"), column.encode("a")])
    assert [row[keep].tolist()[-1] for row, keep in zip(items, mask, strict=True)] == [EOS, EOS]


@pytest.mark.parametrize(
    ("row", "value", "hint"), [(LabelColumn, "possitive", "positive"), (LabelsColumn, "B Q", "there is: B, positive")]
)
def test_an_unknown_label_is_told(row, value, hint):
    column = row.learn(["positive", "B"], CHARACTERS)
    with pytest.raises(DataError, match=hint):
        column.encode(value)


def test_a_closed_set_needs_two_labels():
    with pytest.raises(DataError, match="needs two different labels, and there is 'a'"):
        LabelColumn.learn(["a", "a"], CHARACTERS)


@pytest.mark.parametrize("shared", [True, False])
def test_only_texts_share_a_vocabulary(shared, tmp_path):
    columns = learn_columns(KINDS, [EXAMPLES], CHARACTERS, shared=shared)
    assert (columns["source"] is columns["target"]) == shared
    save_columns(columns, KINDS, tmp_path, shared=shared)
    texts = {"shared"} if shared else {"source", "target"}
    assert {path.name for path in tmp_path.iterdir()} == texts | {"label", "tags"}
    again = load_columns(KINDS, tmp_path, shared=shared)
    assert {name: one.key() for name, one in again.items()} == {name: one.key() for name, one in columns.items()}
    assert (again["source"] is again["target"]) == shared


TOKENIZER = train_tokenizer(Choice("characters"), ["abc"])
COLUMN, TEXT = SentencesColumn(TOKENIZER), TextColumn(TOKENIZER)


def test_sentences_are_cut_one_by_one():
    ab, c = TEXT.encode("ab"), TEXT.encode("c")
    assert COLUMN.encode("ab\tc\tab") == [*ab, EOS, *c, EOS, *ab]
    assert COLUMN.collate([COLUMN.encode("ab\tc"), COLUMN.encode("c")]).items.tolist() == [
        [*ab, EOS, *c, EOS],
        [*c, EOS, 0, 0, 0],
    ]


def test_what_has_no_text_is_no_sentence():
    assert COLUMN.encode("\t c\t \t") == TEXT.encode(" c")
    assert COLUMN.encode("") == []


def test_decoding_gives_the_sentences_back():
    assert COLUMN.decode([*COLUMN.encode("ab\tc"), EOS]) == "ab\tc"
    assert sentences_in([EOS, 4, EOS, EOS, 5, 6]) == [[4], [5, 6]]


def test_its_vocabulary_is_that_of_the_source():
    assert SentencesColumn.folder("document", shared=False) == TextColumn.folder("source", shared=False)
    assert SentencesColumn.folder("document", shared=True) == TextColumn.folder("source", shared=True)
    assert COLUMN.key() != TEXT.key()


def test_the_longest_sentence_is_told():
    assert COLUMN.longest(COLUMN.encode("ab\tabc\tc")) == 3
    assert (COLUMN.longest([]), TEXT.longest(TEXT.encode("ab c"))) == (0, 4)
