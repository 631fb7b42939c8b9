"""Sinusoids by hand and against their identities."""

import math

import pytest
import torch
from torch import Tensor

from regard.errors import PartError
from regard.layers.positions.sinusoidal import TABLE, SinusoidalPosition, sinusoids


@pytest.mark.parametrize("start", [0, 3, TABLE - 1])
@pytest.mark.parametrize("dim", [8, 7])
def test_sinusoids_by_hand(dim, start, assert_agrees):
    wanted = torch.empty(2, dim)
    for row, place in enumerate((start, start + 1)):
        for feature in range(dim):
            angle = place / 10000 ** ((feature - feature % 2) / dim)
            wanted[row, feature] = math.cos(angle) if feature % 2 else math.sin(angle)
    assert_agrees("B18", SinusoidalPosition(dim)(start, 2), wanted)


def rotation(shift: int, dim: int) -> Tensor:
    """R with PE(p) R = PE(p + shift): [[cos, -sin], [sin, cos]] of shift / 10000^(2i/dim) for each pair of features."""
    turns = [shift / 10000 ** (2 * pair / dim) for pair in range(dim // 2)]
    blocks = [[[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]] for turn in turns]
    return torch.block_diag(*torch.tensor(blocks, dtype=torch.float64))


@pytest.mark.parametrize("entry", ["B18", "G07"])
@pytest.mark.parametrize("shift", [1, 7, 400, -5])
def test_a_shift_of_places_is_a_rotation(shift, entry, assert_agrees):
    places, dim = torch.arange(5, 55), 16
    before, after = sinusoids(places, dim).double(), sinusoids(places + shift, dim).double()
    assert_agrees(entry, before @ rotation(shift, dim), after)


def test_the_rotation_is_what_least_squares_finds(assert_agrees):
    places, dim, shift = torch.arange(200), 8, 3
    before, after = sinusoids(places, dim).double(), sinusoids(places + shift, dim).double()
    found = torch.linalg.lstsq(before, after).solution
    assert_agrees("G07", before @ found, after, tolerance=1e-5)
    assert_agrees("G07", found, rotation(shift, dim), tolerance=1e-3)  # slow waves hardly tell their features apart


def test_products_of_places_know_their_distance_alone_and_not_its_sign(assert_agrees):
    vectors, dim = sinusoids(torch.arange(40), 16).double(), 16
    products = vectors @ vectors.t()
    distance = torch.arange(40).unsqueeze(-1) - torch.arange(40)
    turns = torch.tensor([10000 ** (-2 * pair / dim) for pair in range(dim // 2)], dtype=torch.float64)
    assert_agrees("G07", products, (distance.unsqueeze(-1) * turns).cos().sum(dim=-1), tolerance=1e-5)
    assert_agrees("G07", products, products.t())


def test_places_beyond_the_table_are_computed(assert_agrees):
    position = SinusoidalPosition(8)
    assert_agrees("B18", position(TABLE - 2, 4), sinusoids(torch.arange(TABLE - 2, TABLE + 2), 8))


@pytest.mark.parametrize("dim", [8, 7])
def test_halves_are_the_same_waves_in_another_order(dim):
    order = [*range(0, dim, 2), *range(1, dim, 2)]
    for start in (0, TABLE):  # kept, and computed
        mixed = SinusoidalPosition(dim)(start, 5)
        assert torch.equal(SinusoidalPosition(dim, layout="halves")(start, 5), mixed[:, order])


@pytest.mark.parametrize("start", [0, 5, TABLE])
def test_inclusive_frequencies_by_hand(start):
    """All sines, then all cosines, of place · 10000^(-i/(dim/2 - 1)): Marian's positions."""
    dim, half = 8, 4
    vectors = SinusoidalPosition(dim, layout="halves", frequencies="inclusive")(start, 2)
    for row, place in enumerate((start, start + 1)):
        angles = [place * 10000 ** (-i / (half - 1)) for i in range(half)]
        wanted = torch.tensor([*map(math.sin, angles), *map(math.cos, angles)])
        torch.testing.assert_close(vectors[row], wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("dim", [2, 7])
def test_inclusive_frequencies_need_an_even_dim_of_four(dim):
    with pytest.raises(PartError, match="needs an even dim of 4 or more"):
        SinusoidalPosition(dim, frequencies="inclusive")
