"""Draws by line: the published generator, independence of company, and noise by its weights."""

import numpy as np
import pytest

from regard.data.word_windows import AliasSampler, HashedDraws, _mixed

STEP = 0x9E3779B97F4A7C15


def split_mix(state: int) -> int:
    """The next number of SplitMix64, in Python's whole numbers."""
    wide = 2**64
    bits = (state + STEP) % wide
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % wide
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % wide
    return bits ^ (bits >> 31)


def test_numbers_are_those_of_split_mix():
    states = [0, 1, 12345678901234567890]
    given = np.array([(state + STEP) % 2**64 for state in states], np.uint64)
    assert _mixed(given).tolist() == [split_mix(state) for state in states]


def test_draws_depend_on_seed_epoch_line_and_number_alone():
    lines, numbers = np.array([3, 3, 8]), np.array([0, 1, 0])
    drawn = HashedDraws(1, 2).of(lines, numbers)
    assert np.array_equal(HashedDraws(1, 2).of(lines[[2, 0]], numbers[[2, 0]]), drawn[[2, 0]])
    others = [HashedDraws(seed, epoch).of(lines, numbers) for seed, epoch in ((1, 3), (2, 2))]
    assert len(np.unique(np.concatenate([drawn, *others]))) == 9


@pytest.mark.parametrize("weights", [[1.0, 2.0, 0.0, 5.0], [1.0], [0.0, 1.0], list(np.arange(1, 200) ** -1.0)])
def test_noise_is_drawn_by_its_weights(weights):
    noise, weights = AliasSampler(np.array(weights)), np.array(weights)
    drawn = noise.draw(HashedDraws(0, 0).of(np.zeros(200_000, np.int64), np.arange(200_000)))
    shares = np.bincount(drawn, minlength=len(weights)) / len(drawn)
    wanted = weights / weights.sum()
    assert np.abs(shares - wanted).max() < 0.005
    assert (shares[wanted == 0] == 0).all()
