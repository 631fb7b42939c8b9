"""Hashed word n-grams against Python's own integers, and fastText's bag by hand."""

import pytest
import torch
from torch import tensor
from torch.testing import assert_close

from regard.layers.embedders.word_ngrams import FACTOR, WordNgramEmbedder
from regard.layers.pooling import MeanPooling


def bucket(ids: list[int], buckets: int) -> int:
    """The last word first, in 64 bits with a sign."""
    code = ids[-1]
    for word in reversed(ids[:-1]):
        code = (code * FACTOR + word + 2**63) % 2**64 - 2**63
    return code % buckets


def test_buckets_equal_exact_arithmetic():
    embedder = WordNgramEmbedder(50_000, 4, order=4, buckets=997)
    ids = torch.randint(0, 50_000, (3, 9))
    found = embedder.rows_of(torch.cat([ids.new_zeros(3, 3), ids], dim=1))
    for row, words in enumerate(ids.tolist()):
        padded = [0, 0, 0, *words]
        for place in range(len(words)):
            for number, length in enumerate((2, 3, 4)):
                gram = padded[place + 4 - length : place + 4]
                assert found[row, place, number] == bucket(gram, 997)


def test_a_word_is_its_vector_and_that_of_its_bigram():
    embedder = WordNgramEmbedder(9, 4, buckets=7, dropout=0.0)
    vectors, _ = embedder(tensor([[5, 8]]))
    expected = 2 * (embedder.table[8] + embedder.more[bucket([5, 8], 7)])  # the root of 4 is 2
    assert_close(vectors[0, 1], expected)


@pytest.mark.parametrize(
    ("std", "ngram_std", "spreads"),
    [(None, None, (0.25, 0.25)), (0.01, None, (0.01, 0.01)), (0.01, 0.1, (0.01, 0.1)), (None, 0.0, (0.25, 0.0))],
)
def test_spreads_at_the_start(std, ngram_std, spreads):
    """Of words, 1 / sqrt(dim) by default, and of n-grams."""
    embedder = WordNgramEmbedder(5_000, 16, std=std, ngram_std=ngram_std)
    found = torch.stack([embedder.table.detach().std(), embedder.more.detach().std()])
    assert_close(found, tensor(spreads), rtol=0.05, atol=0.0)


def test_order_matters_from_bigrams_on():
    here, there = tensor([[4, 5, 6, 7]]), tensor([[4, 6, 5, 7]])
    for order, same in ((1, True), (2, False)):
        embedder = WordNgramEmbedder(9, 4, order=order, buckets=50, dropout=0.0)
        one, other = (MeanPooling(4)(embedder(ids)[0]) for ids in (here, there))
        assert torch.allclose(one, other) is same
