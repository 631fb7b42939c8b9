"""Words and their places by hand, and every row in pieces."""

import pytest
import torch
from torch.testing import assert_close

from regard.layers.embedders import EMBEDDERS
from regard.layers.embedders.words import WordEmbedder
from regard.layers.positions import POSITIONS
from regard.layers.positions.sinusoidal import SinusoidalPosition, sinusoids
from regard.pieces import BOS
from regard.registry import Choice


@pytest.mark.parametrize("scale", [True, False])
def test_a_word_is_its_row_by_the_root_of_dim_and_its_place_added_or_beside(scale, assert_agrees):
    added, beside = (
        WordEmbedder(10, 9, SinusoidalPosition(9), scale=scale, merge=merge, dropout=0.0)
        for merge in ("add", "concatenate")
    )
    beside.load_state_dict(added.state_dict())
    word, place = added.table[7].detach() * (3 if scale else 1), sinusoids(torch.arange(2), 9)[1]
    ids = torch.tensor([[4, 7]])
    assert_agrees("B19", added(ids)[0][0, 1].detach(), word + place)
    assert_agrees("B19", beside(ids)[0][0, 1].detach(), torch.cat([word, place]))


def test_zero_start_reads_the_first_symbol_as_its_place_alone():
    embedder = WordEmbedder(10, 4, SinusoidalPosition(4), zero_start=True, dropout=0.0)
    vectors, _ = embedder(torch.tensor([[BOS, 7], [5, BOS]]))
    places = sinusoids(torch.arange(2), 4)
    assert torch.equal(vectors[0, 0], places[0]) and torch.equal(vectors[1, 1], places[1])
    assert_close(vectors[0, 1], embedder.table[7] * 2 + places[1])
    vectors.sum().backward()
    assert not embedder.table.grad[BOS].any() and embedder.table.grad[7].all()


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("merge", ["add", "concatenate"])
def test_words_with_places_in_chunks_equal_the_whole(name, merge, assert_agrees):
    embedder = WordEmbedder(10, 8, POSITIONS.build(Choice(name), 8), merge=merge, dropout=0.0)
    assert_chunks_equal_the_whole(embedder, "B18" if name == "sinusoidal" else "B19", assert_agrees)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_every_embedder_in_chunks_equals_the_whole(name, assert_agrees):
    embedder = EMBEDDERS.build(Choice(name, {"dropout": 0.0}), 10, 8, None)
    assert_chunks_equal_the_whole(embedder, "B21", assert_agrees)


@torch.no_grad()
def assert_chunks_equal_the_whole(embedder, entry, assert_agrees):
    ids = torch.randint(0, 10, (2, 6))
    whole, count = embedder(ids)
    first, past = embedder(ids[:, :4])
    second, past = embedder(ids[:, 4:], past)
    assert_agrees(entry, torch.cat([first, second], dim=1), whole)
    assert_close(past, count)
    assert whole.shape[-1] == embedder.dim


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("merge", ["add", "concatenate"])
def test_words_padded_on_the_left_have_the_vectors_of_those_padded_on_the_right(name, merge):
    position = POSITIONS.build(Choice(name, {"max_length": 6} if name == "learned" else {}), 4)
    embedder = WordEmbedder(10, 4, position, merge=merge, skip_padding=True, dropout=0.0)
    left, right = torch.tensor([[0, 0, 5, 7], [4, 6, 8, 9]]), torch.tensor([[5, 7, 0, 0], [4, 6, 8, 9]])
    (found, past), (wanted, other) = embedder(left), embedder(right)
    assert_close(found[left != 0], wanted[right != 0])
    more = torch.tensor([[3, 3], [3, 3]])
    assert_close(embedder(more, past)[0], embedder(more, other)[0])
    assert_close(embedder(more, past)[0][0], embedder(torch.tensor([[5, 7, 3, 3]]))[0][0, 2:])
    plain = WordEmbedder(10, 4, position, merge=merge, dropout=0.0)
    plain.load_state_dict(embedder.state_dict())
    assert_close(wanted[right != 0], plain(right)[0][right != 0])


@pytest.mark.parametrize("name", POSITIONS)
def test_vectors_of_any_places_are_those_of_the_table(name):
    position = POSITIONS.build(Choice(name), 4)
    places = torch.tensor([[3, 0], [2, 2]])
    assert_close(position.at(places), position(0, 4)[places])
    assert position.at(places[:0]).shape == (0, 2, 4)
