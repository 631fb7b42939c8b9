"""Sentences inside a model, against a slow loop over the words of a text."""

import random

import pytest
import torch
from torch import tensor
from torch.testing import assert_close

from regard.layers.by_sentence import BySentence, Sentences
from regard.pieces import EOS, PAD, SPECIALS, UNK

PIECES = [*SPECIALS, " a", "b", ".", "!", '"', "\u2581Mr.", "。", " (", ")", "…»"]
WORDS, ENDS, CLOSERS = (UNK, 4, 5, 11), (6, 7, 9, 10, 13), (8, 12)


def by_loop(ids: list[int], max_words: int | None = None) -> list[list[int]]:
    """The places of each sentence's words."""
    found: list[list[int]] = []
    ended = False
    for place, one in enumerate(ids):
        fresh = one in WORDS and ended
        if not found or fresh or len(found[-1]) == max_words:
            found.append([])
        found[-1].append(place)
        ended = one in ENDS or (ended and one not in WORDS)
    return found


def places(sentences: Sentences, row: int) -> list[list[int]]:
    """What a row of the grid holds, without what is hidden."""
    pairs = zip(sentences.places[row], sentences.mask[row], strict=True)
    return [line[shown].tolist() for line, shown in pairs if shown.any()]


@pytest.mark.parametrize("max_words", [None, 1, 3])
def test_sentences_equal_a_loop(max_words: int | None):
    draw = random.Random(5)
    texts = [[draw.randrange(UNK, len(PIECES)) for _ in range(draw.randrange(0, 30))] + [EOS] for _ in range(50)]
    longest = max(map(len, texts))
    ids = tensor([text + [PAD] * (longest - len(text)) for text in texts])
    found = BySentence(PIECES, max_words=max_words)(ids, ids != PAD)
    for row, text in enumerate(texts):
        assert places(found, row) == by_loop(text, max_words), text


def test_quotes_and_the_end_stay_with_their_sentence():
    ids = tensor([[4, 6, 8, 5, 7, 7, 12, EOS]])  # a. "b!!) </s>
    assert places(BySentence(PIECES)(ids, ids != PAD), 0) == [[0, 1, 2], [3, 4, 5, 6, 7]]


def test_a_word_that_is_not_known_begins_its_sentence():
    ids = tensor([[4, 6, UNK, 5, 6, UNK, EOS]])  # a. <unk> b. <unk> </s>
    assert places(BySentence(PIECES)(ids, ids != PAD), 0) == [[0, 1], [2, 3, 4], [5, 6]]


@pytest.mark.parametrize(("latest", "kept"), [(False, [[0, 1], [2, 3]]), (True, [[2, 3], [4, 5]])])
def test_first_or_last_sentences_are_kept(latest: bool, kept: list[list[int]]):
    ids = tensor([[4, 6, 5, 6, 4, EOS], [4, 6, EOS, PAD, PAD, PAD]])
    found = BySentence(PIECES, max_sentences=2, latest=latest)(ids, ids != PAD)
    assert places(found, 0) == kept and places(found, 1) == [[0, 1, 2]]
    assert found.shown.tolist() == [[True, True], [True, False]]


def test_words_are_taken_and_put_back():
    ids = tensor([[4, 6, 5, 5, 6, EOS], [4, EOS, PAD, PAD, PAD, PAD]])
    found, values = BySentence(PIECES)(ids, ids != PAD), torch.randn(2, 6, 3)
    taken = found.take(values)
    assert_close(taken[0, 1, 2], values[0, 4])
    back = found.put_back(taken[..., 0], 6)
    assert_close(back, values[..., 0].masked_fill(ids == PAD, 0.0))


def test_no_words_no_sentences():
    ids = torch.zeros(2, 3, dtype=torch.long)
    assert BySentence(PIECES)(ids, ids != PAD).mask.shape == (2, 0, 0)
    assert BySentence(PIECES)(ids[:, :0], ids[:, :0] != PAD).mask.shape == (2, 0, 0)
