"""Words and places: sinusoids against their identities, tables against a lookup, and any row in pieces."""

import math

import pytest
import torch
from torch.testing import assert_close

from regard.errors import RegardError
from regard.layers.embedders.words import WordEmbedder
from regard.layers.positions import POSITIONS
from regard.layers.positions.learned import LearnedPosition
from regard.layers.positions.sinusoidal import TABLE, SinusoidalPosition, sinusoids
from regard.registry import Choice


@pytest.mark.parametrize("dim", [8, 7])
def test_sinusoids_by_hand(dim):
    vectors = SinusoidalPosition(dim)(3, 2)
    for row, place in enumerate((3, 4)):
        for feature in range(dim):
            angle = place / 10000 ** ((feature - feature % 2) / dim)
            wanted = math.cos(angle) if feature % 2 else math.sin(angle)
            assert vectors[row, feature].item() == pytest.approx(wanted, abs=1e-6)


def test_a_shift_of_places_is_a_rotation():
    places, shift, dim = torch.arange(50), 7, 16
    before, after = sinusoids(places, dim).double(), sinusoids(places + shift, dim).double()
    for pair in range(dim // 2):
        angle = shift / 10000 ** (2 * pair / dim)
        turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]).double()
        columns = slice(2 * pair, 2 * pair + 2)
        assert_close(before[:, columns] @ turn, after[:, columns], atol=1e-5, rtol=0)


def test_places_beyond_the_table_are_computed():
    position = SinusoidalPosition(8)
    assert_close(position(TABLE - 2, 4), sinusoids(torch.arange(TABLE - 2, TABLE + 2), 8))


@pytest.mark.parametrize("dim", [8, 7])
def test_halves_are_the_same_waves_in_another_order(dim):
    order = [*range(0, dim, 2), *range(1, dim, 2)]
    for start in (0, TABLE):  # kept, and computed
        mixed = SinusoidalPosition(dim)(start, 5)
        assert torch.equal(SinusoidalPosition(dim, layout="halves")(start, 5), mixed[:, order])


def test_learned_places_are_rows_of_a_table_and_learn_alone():
    position = LearnedPosition(4, max_length=6)
    vectors = position(2, 3)
    assert torch.equal(vectors, position.table[2:5])
    vectors.sum().backward()
    assert position.table.grad.sum(dim=1).tolist() == [0, 0, 4, 4, 4, 0]


def test_places_that_were_not_learned_are_refused_or_clamped():
    with pytest.raises(RegardError, match=r"7 pieces, but positions were learned for 6 .*max_length"):
        LearnedPosition(4, max_length=6)(5, 2)
    position = LearnedPosition(4, max_length=6, beyond="clamp")
    assert torch.equal(position(4, 4), position.table[[4, 5, 5, 5]])
    assert torch.equal(position(9, 1), position.table[[5]])


@pytest.mark.parametrize("scale", [True, False])
def test_a_word_is_its_row_by_the_root_of_dim_and_its_place_added_or_beside(scale):
    added, beside = (
        WordEmbedder(10, 9, SinusoidalPosition(9), scale=scale, merge=merge, dropout=0.0)
        for merge in ("add", "concatenate")
    )
    beside.load_state_dict(added.state_dict())
    word, place = added.table[7] * (3 if scale else 1), sinusoids(torch.arange(2), 9)[1]
    ids = torch.tensor([[4, 7]])
    assert_close(added(ids)[0][0, 1], word + place)
    assert_close(beside(ids)[0][0, 1], torch.cat([word, place]))


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("merge", ["add", "concatenate"])
def test_embedder_in_chunks_equals_the_whole(name, merge):
    embedder = WordEmbedder(10, 8, POSITIONS.build(Choice(name), 8), merge=merge, dropout=0.0)
    ids = torch.randint(0, 10, (2, 6))
    whole, count = embedder(ids)
    first, past = embedder(ids[:, :4])
    second, past = embedder(ids[:, 4:], past)
    assert_close(torch.cat([first, second], dim=1), whole)
    assert count == past == 6 and whole.shape[-1] == embedder.dim
