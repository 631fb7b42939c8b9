"""Windows of words: contexts by hand, what is left out and how often, negatives, places, company."""

from itertools import islice

import numpy as np
import pytest

from regard.data.ragged import Ragged
from regard.data.word_windows import CONTEXTS, TARGETS, AliasSampler, HashedNumbers, Sampling, WordWindows, _mixed
from regard.errors import DataError

SIZE = 40
ALL = Sampling(window=1, negatives=3, power=0.75, frequent=0.0)


def lines_of(rows) -> Ragged:
    return Ragged.of(rows, np.dtype(np.int64))


def made(rows, sampling=ALL, counts=None, **settings) -> WordWindows:
    counts = np.bincount(np.concatenate(rows), minlength=SIZE) if counts is None else counts
    return WordWindows(lines_of(rows), sampling, counts, route="r", **settings)


def of_lines(batches, length: int) -> dict[int, list[tuple]]:
    """What each line gives: words, contexts and negatives."""
    found: dict[int, list[tuple]] = {}
    for batch in batches:
        for line, near, told in zip(
            batch.lines.tolist(), batch.columns[CONTEXTS].tolist(), batch.columns[TARGETS].tolist(), strict=True
        ):
            found.setdefault(line, []).append((tuple(near), tuple(told)))
    assert len(found) == length
    return found


def test_contexts_are_the_words_beside_a_word_in_its_line():
    (batch,) = made([[5, 6, 7], [8], [9, 5]]).all()
    assert batch.columns[CONTEXTS].tolist() == [[-1, 6], [5, 7], [6, -1], [-1, 5], [9, -1]]
    assert batch.columns[TARGETS][:, 0].tolist() == [5, 6, 7, 9, 5]
    assert batch.lines.tolist() == [0, 0, 0, 2, 2]
    assert (batch.count, batch.read) == (5, 6)


def test_words_without_a_vector_are_left_out_before_windows_are_cut():
    counts = np.bincount([5, 6, 7], minlength=SIZE)
    (batch,) = made([[5, 3, 6, 7]], counts=counts).all()
    assert batch.columns[CONTEXTS].tolist() == [[-1, 6], [5, 7], [6, -1]]


def test_reaches_are_drawn_evenly_from_one_on():
    window = 4
    rows = [list(range(5, 25))] * 2000
    found = made(rows, ALL._replace(window=window), tokens=10**6).all()[0]
    middle = (found.columns[TARGETS][:, 0] == 15).numpy()
    reaches = (found.columns[CONTEXTS].numpy()[middle] >= 0).sum(axis=1) // 2
    assert np.abs(np.bincount(reaches, minlength=window + 1)[1:] / 2000 - 1 / window).max() < 0.05


def test_negatives_are_never_the_word_and_follow_the_noise():
    rows, counts = [[5, 6] * 3000], np.zeros(SIZE, np.int64)
    counts[[5, 6, 7]] = 16, 1, 81
    (batch,) = made(rows, counts=counts, tokens=10**6).all()
    targets = batch.columns[TARGETS].numpy()
    assert (targets[:, 1:] != targets[:, :1]).all()
    of_five = targets[targets[:, 0] == 5][:, 1:]
    assert (of_five == 7).mean() == pytest.approx(27 / 28, abs=0.02)  # 81^.75 = 27, 1^.75 = 1
    assert set(np.unique(targets[:, 1:])) == {5, 6, 7}


def test_frequent_words_are_kept_as_often_as_word2vec_keeps_them():
    counts = np.zeros(SIZE, np.int64)
    counts[[5, 6]] = 900, 100
    threshold = 0.01
    (batch,) = made([[5] * 20_000], ALL._replace(frequent=threshold), counts, tokens=10**6).all()
    share = 0.9
    assert batch.count / 20_000 == pytest.approx((np.sqrt(share / threshold) + 1) * threshold / share, abs=0.01)


@pytest.mark.parametrize("tokens", [1, 7, 1000])
def test_draws_of_a_line_do_not_depend_on_its_company(tokens):
    rows = [list(range(5, 12)), [8, 9, 9, 30], [5, 6], list(range(20, 40))]
    sampling = ALL._replace(window=3, frequent=0.02)
    alone = of_lines([made(rows, sampling, tokens=10**6).all()[0]], len(rows))
    stream = made(rows, sampling, tokens=tokens)
    plans = [plan for plan in islice(stream.plans(), 4 * len(rows)) if plan.epoch == 0]
    assert of_lines([plan.make() for plan in plans], len(rows)) == alone
    later = [plan for plan in islice(stream.plans(), 8 * len(rows)) if plan.epoch == 1]
    assert of_lines([plan.make() for plan in later], len(rows)) != alone


def test_a_stream_goes_on_from_its_place():
    rows = [list(range(5, 12))] * 9
    stream = made(rows, tokens=14)
    plans = list(islice(stream.plans(), 12))
    assert {plan.epoch for plan in plans} == {0, 1, 2}
    for number in (0, 3, 4, 7):
        again = next(stream.plans(plans[number].after))
        assert np.array_equal(again.make().columns[TARGETS], plans[number + 1].make().columns[TARGETS])
    with pytest.raises(DataError, match="has no batch 99"):
        next(stream.plans({"epoch": 0, "index": 99}))


def test_a_text_of_no_windows_gives_an_empty_batch():
    (batch,) = made([[5], [6]]).all()
    assert batch.count == 0 and batch.columns[CONTEXTS].shape == (0, 2)


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
    drawn = HashedNumbers(1, 2).of(lines, numbers)
    assert np.array_equal(HashedNumbers(1, 2).of(lines[[2, 0]], numbers[[2, 0]]), drawn[[2, 0]])
    others = [HashedNumbers(seed, epoch).of(lines, numbers) for seed, epoch in ((1, 3), (2, 2))]
    assert len(np.unique(np.concatenate([drawn, *others]))) == 9


@pytest.mark.parametrize("weights", [[1.0, 2.0, 0.0, 5.0], [1.0], [0.0, 1.0], list(np.arange(1, 200) ** -1.0)])
def test_noise_is_drawn_by_its_weights(weights):
    noise, weights = AliasSampler(np.array(weights)), np.array(weights)
    drawn = noise.sample(HashedNumbers(0, 0).of(np.zeros(200_000, np.int64), np.arange(200_000)))
    shares = np.bincount(drawn, minlength=len(weights)) / len(drawn)
    wanted = weights / weights.sum()
    assert np.abs(shares - wanted).max() < 0.005
    assert (shares[wanted == 0] == 0).all()
