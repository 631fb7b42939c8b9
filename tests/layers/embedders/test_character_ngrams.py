"""Bags of n-grams against sums of looked-up rows, and their vocabularies against counting."""

from collections import Counter

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.errors import ConfigError
from regard.layers.embedders.character_ngrams import CharacterNgramEmbedder
from regard.layers.positions.sinusoidal import SinusoidalPosition
from regard.records import PAD

VOCAB, DIM, ORDER, ROWS = 7, 4, 3, 5
TEXT = torch.tensor([[4, 5, 4, 5, 6], [4, 5, 4, 4, PAD]])


def grams(row: list[int], order: int) -> list[tuple[int, ...]]:
    """What ends at each place, with padding before the first."""
    padded = [PAD] * (order - 1) + row
    return [tuple(padded[place : place + order]) for place in range(len(row))]


@pytest.fixture
def embedder() -> CharacterNgramEmbedder:
    embedder = CharacterNgramEmbedder(VOCAB, DIM, order=ORDER, rows=ROWS, scale=False, dropout=0.0).double()
    embedder.learn([codes.unique(return_counts=True) for codes in embedder.counted(TEXT)])
    return embedder


def code(gram: tuple[int, ...]) -> int:
    return sum(digit * VOCAB**place for place, digit in enumerate(reversed(gram)))


def known(order: int) -> list[tuple[int, ...]]:
    """The most frequent n-grams of the text, of equals those of smaller numbers, by their numbers."""
    rows = [[number for number in row if number != PAD] for row in TEXT.tolist()]
    counts = Counter(gram for row in rows for gram in grams(row, order))
    return sorted(sorted(counts, key=lambda gram: (-counts[gram], code(gram)))[:ROWS], key=code)


def by_hand(embedder: CharacterNgramEmbedder, row: list[int]) -> Tensor:
    vectors = embedder.table[torch.tensor(row)]
    for order in range(2, ORDER + 1):
        listed = known(order)
        first = (order - 2) * (ROWS + 1)
        numbers = [listed.index(gram) if gram in listed else ROWS for gram in grams(row, order)]
        vectors = vectors + embedder.more[first + torch.tensor(numbers)]
    return vectors


def test_an_embedding_is_the_sum_of_the_rows_of_what_ends_there(embedder, assert_agrees):
    for row in ([4, 5, 4, 5, 6], [6, 6, 6, 4], [4]):
        assert_agrees("B16", embedder(torch.tensor([row]))[0][0], by_hand(embedder, row), tolerance=0.0)


def test_rarer_ones_share_a_row(embedder):
    """Neither 6 6 nor 4 6 is in the text."""
    first, second = embedder.rows_of(torch.tensor([[0, 6, 6], [0, 4, 6]]))[:, 0, 0].tolist()
    assert first == second == ROWS


def test_no_place_sees_a_later_one(embedder, assert_agrees):
    ids = torch.tensor([[4, 5, 6, 4]])
    changed = torch.tensor([[4, 5, 5, 5]])
    assert_agrees("B16", embedder(ids)[0][:, :2], embedder(changed)[0][:, :2], tolerance=0.0)


def test_one_gram_alone_is_an_ordinary_embedding(assert_agrees):
    embedder = CharacterNgramEmbedder(VOCAB, DIM, order=1, scale=True, dropout=0.0)
    assert_agrees("B16", embedder(TEXT)[0], embedder.table[TEXT] * 2)
    assert embedder.output_weight() is embedder.table
    assert embedder.counted(TEXT) == []


def test_without_counts_every_n_gram_is_another_one():
    embedder = CharacterNgramEmbedder(VOCAB, DIM, order=2, rows=0, scale=False, dropout=0.0)
    assert_close(embedder(TEXT)[0], embedder.table[TEXT] + embedder.more[0])


def test_places_are_added_and_counted():
    embedder = CharacterNgramEmbedder(VOCAB, DIM, SinusoidalPosition(DIM), order=2, rows=3, dropout=0.0)
    whole, _ = embedder(TEXT)
    first, past = embedder(TEXT[:, :2])
    assert_close(torch.cat([first, embedder(TEXT[:, 2:], past)[0]], dim=1), whole)
    assert past[1] == 2


def test_too_many_to_be_numbered_is_told():
    with pytest.raises(ConfigError, match="10,000 pieces"):
        CharacterNgramEmbedder(10_000, DIM, order=5)


def test_a_saved_vocabulary_comes_back(embedder):
    other = CharacterNgramEmbedder(VOCAB, DIM, order=ORDER, rows=ROWS, scale=False, dropout=0.0).double()
    other.load_state_dict(embedder.state_dict())
    assert torch.equal(other(TEXT)[0], embedder(TEXT)[0])
