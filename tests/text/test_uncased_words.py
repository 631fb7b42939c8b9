"""Words in lower case, without what is rare: for texts that are only read."""

import pytest
from small_runs import regard, write_texts

from regard import load
from regard.errors import CheckpointError
from regard.pieces import UNK
from regard.registry import Choice
from regard.text import load_tokenizer, train_tokenizer

TEXTS = ["Don't stop, old man!", "The old man stops.", "看 电影"]


def trained(**settings):
    return train_tokenizer(Choice("uncased_words", settings), TEXTS)


@pytest.mark.parametrize(
    ("signs", "text", "pieces"),
    [
        (True, "DON'T stop!", [" dont", " stop", "!"]),
        (False, "DON'T stop!", [" dont", " stop"]),
        (True, "The  old\nman's", [" the", " old", "<unk>"]),
        (True, "the zebra …", [" the", "<unk>", "<unk>"]),
        (False, "… !", []),
        (False, "看。old", ["看", " old"]),
        (True, "看电影 stop", ["看", "电", "影", " stop"]),
        (True, "", []),
    ],
)
def test_by_hand(signs, text, pieces):
    tokenizer = trained(signs=signs)
    assert tokenizer.pieces(tokenizer.encode(text)) == pieces


def test_case_does_not_matter_and_rare_words_are_one_piece():
    tokenizer = trained(min_count=2)
    assert tokenizer.encode("OLD Man") == tokenizer.encode("old man")
    assert tokenizer.encode("old incomprehensibilities man")[1] == UNK
    assert len(tokenizer.encode("stop stops don't")) == 3
    assert not tokenizer.lossless


@pytest.mark.parametrize("signs", [True, False])
def test_what_is_saved_is_read(tmp_path, signs):
    tokenizer = trained(signs=signs)
    tokenizer.save(tmp_path)
    found = load_tokenizer(tmp_path)
    assert found.key() == tokenizer.key() != trained(signs=not signs).key()
    assert found.encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])
    (tmp_path / "signs.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"signs\.json"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("signs", [False, True])
def test_a_mark_is_one_word_and_a_marked_word_the_same_as_elsewhere(signs):
    texts = ["The <e1>old house</e1>'s <e2>Tree</e2>", "old tree <e1> </e1> house"] * 3
    tokenizer = train_tokenizer(Choice("uncased_words", {"signs": signs}), texts)
    marked = [piece.strip() for piece in tokenizer.pieces(tokenizer.encode(texts[0])) if piece.strip() != "'"]
    assert marked == ["the", "<e1>", "old", "house", "</e1>", "s", "<e2>", "tree", "</e2>"]
    plain = tokenizer.encode("old house tree")
    assert set(plain) < set(tokenizer.encode(texts[0]))


def test_who_writes_texts_cannot_use_them(tmp_path):
    told = regard("train", *write_texts(tmp_path), "text.tokenizer=uncased_words", "--run", tmp_path / "run")
    assert told.code == 2
    assert "text.tokenizer: keeps neither case nor rare words" in told.said


def test_a_classifier_answers_with_the_text_as_it_was_given(tmp_path):
    (tmp_path / "a.tsv").write_text("good\tA GOOD film\nbad\tA BAD film\n" * 8, encoding="utf-8")
    settings = ["text.tokenizer=uncased_words", "model.dim=8", "training.max_updates=2"]
    done = regard("train", "--text", tmp_path / "a.tsv", *settings, "--run", tmp_path / "run", "--quiet")
    assert done.code == 0, done.said
    assert load(tmp_path / "run").predict(["A GOOD Zebra  film"])[0].source == "A GOOD Zebra  film"
