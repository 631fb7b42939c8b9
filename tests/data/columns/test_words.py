"""Words and their pieces: there and back, for every tokenizer."""

import pytest
import torch

from regard.data.columns.words import WordsColumn
from regard.records import PAD
from regard.registry import Choice
from regard.text import TOKENIZERS

TEXTS = ["the cats don't sleep", "a dog runs .", "看似 简单 ， 只 是", "the café sleeps"]
RARE = ["", "  ", "zzyzx 龘 🙂", "the  dog\u00a0runs", "\u200b e\u0301 ▁ \ue0fe0", "1/2 don't"]


@pytest.fixture(params=sorted(name for name in TOKENIZERS if TOKENIZERS[name].lossless))
def column(request):
    size = {"characters": 275, "subwords": 320, "words": 265}[request.param]
    return WordsColumn.learn(TEXTS, Choice(request.param, {"size": size}))


@pytest.mark.parametrize("text", [*TEXTS, *RARE])
def test_words_survive_being_cut(column, text):
    ids = column.encode(text)
    words = [word.replace("e\u0301", "é") for word in text.split()]
    assert column.words(ids) == words
    assert column.decode(ids) == " ".join(words)
    assert all(0 <= one < len(column) for one in ids)
    assert column.sample(text, 3) == ids or column.samples


def test_batches_hold_words_by_their_pieces(column):
    """Against a loop over words, each cut by itself."""
    texts = [*TEXTS, *RARE]
    items, mask = column.collate(column.encode_batch(texts))
    cut = [[column.tokenizer.encode(word) for word in text.split()] for text in texts]
    assert items.shape == mask.shape == (len(texts), max(map(len, cut)), max(len(word) for row in cut for word in row))
    for row, words in enumerate(cut):
        for place in range(items.shape[1]):
            pieces = words[place] if place < len(words) else []
            assert items[row, place][mask[row, place]].tolist() == pieces
            assert mask[row, place].sum() == len(pieces)
    assert (items[~mask] == PAD).all()


def test_batches_come_apart_again(column):
    rows = column.encode_batch([*TEXTS, *RARE])
    assert column.flat(column.collate(rows)) == rows


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_texts_without_words_have_room_for_one(column, rows):
    items, mask = column.collate([[]] * rows)
    assert items.shape == mask.shape == (rows, 1, 1)
    assert not mask.any()


def test_pieces_drawn_anew_depend_on_text_and_seed_alone():
    column = WordsColumn.learn(TEXTS, Choice("subwords", {"size": 320, "sampling": 0.5}))
    drawn = [column.sample("the cats don't sleep", seed) for seed in range(20)]
    assert drawn == [column.sample("the cats don't sleep", seed) for seed in range(20)]
    assert len(set(map(tuple, drawn))) > 1
    assert {column.decode(ids) for ids in drawn} == {"the cats don't sleep"}


def test_words_tell_where_they_begin(column):
    """So two words are no one word of the same pieces."""
    together, apart = column.encode("catssleep"), column.encode("cats sleep")
    assert (len(column.words(together)), len(column.words(apart))) == (1, 2)
    assert torch.equal(column.collate([apart]).mask.any(dim=-1), torch.tensor([[True, True]]))
    assert column.pieces(apart) == column.tokenizer.pieces(
        [one for word in ("cats", "sleep") for one in column.tokenizer.encode(word)]
    )


@pytest.mark.parametrize("name", [name for name in TOKENIZERS if "size" in TOKENIZERS.settings(name)])
def test_words_tell_whether_they_keep_all_of_a_text(name):
    """So a tagger, which shows the words that it read, refuses a tokenizer that drops some."""
    assert WordsColumn.learn(TEXTS, Choice(name, {"size": 320})).lossless == TOKENIZERS[name].lossless
