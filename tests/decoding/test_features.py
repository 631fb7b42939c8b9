"""Features by hand, and under every search."""

import math

import pytest
import torch
from torch.testing import assert_close

from regard.decoding import FEATURES, SEARCHES, GreedySearch
from regard.decoding.beam import BeamSearch
from regard.decoding.features.coverage import CoverageFeature
from regard.decoding.features.length import LengthFeature
from regard.decoding.features.no_repeat import NoRepeatFeature
from regard.records import BOS, EOS, PAD, Step

VOCAB, LIMIT = 6, 5
SHORT = {"max_ratio": 0.0, "max_extra": LIMIT}


def covered(writers, source, one, weight, min_attention=0.01):
    """The coverage of a finished target, summed over nothing but its source."""
    sums = [0.0] * len(source)
    for place in range(len(one.ids) + 1):
        for word, share in enumerate(writers.looks(tuple(source), tuple(one.ids[:place]))[: len(source)]):
            sums[word] += share
    return weight * sum(math.log(min(max(each, min_attention), 1.0)) for each in sums)


def repeats(ids, size):
    grams = [tuple(ids[place : place + size]) for place in range(len(ids) - size + 1)]
    return len(grams) != len(set(grams))


def test_length_by_hand(writers):
    feature = LengthFeature(weight=0.5)
    state = feature.start(writers.batch_of([[EOS], [EOS]]))
    added, _ = feature.step(Step(torch.zeros(2, 5)), torch.full((2, 1), BOS), state)
    assert_close(added, torch.tensor([[0.5, 0.5, 0.0, 0.5, 0.5]]))
    assert (feature.rewards, LengthFeature(weight=-0.5).rewards) == (True, False)


def test_coverage_by_hand(writers):
    feature = CoverageFeature(weight=0.5, min_attention=0.01)
    state = feature.start(writers.batch_of([[4, 5, EOS], [EOS]]))
    for shares in ([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]], [[0.75, 0.25, 0.0], [0.0, 0.5, 0.5]]):
        weights = torch.tensor(shares)
        added, state = feature.step(Step(torch.zeros(2, VOCAB), weights), torch.full((2, 1), BOS), state)
        assert not added.any()
    wanted = [0.5 * (0 + math.log(0.5) + math.log(0.25)), 0.5 * math.log(0.5)]  # 1.25 counts as 1
    assert_close(feature.finish(state), torch.tensor(wanted))
    assert_close(feature.finish(state.select(torch.tensor([1, 1, 0]))), torch.tensor([wanted[1], wanted[1], wanted[0]]))
    never = feature.finish(feature.start(writers.batch_of([[4, EOS]])))
    assert_close(never, torch.tensor([0.5 * 2 * math.log(0.01)]))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("search", SEARCHES)
def test_no_gram_stands_twice(writers, search, size):
    tree, batch = writers.drawn(VOCAB, 1, -3.0), writers.batch_of(writers.sources_of(40, VOCAB, 9))
    free = SEARCHES[search]().run(tree, batch)
    held = SEARCHES[search]().run(tree, batch, features=[NoRepeatFeature(size=size)])
    assert any(repeats(one.ids, size) for row in free for one in row)
    assert not any(repeats(one.ids, size) for row in held for one in row)
    assert all(math.isfinite(one.score) for row in held for one in row)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_huge_beam_finds_the_best_without_repetition(writers, size):
    tree, sources = writers.drawn(VOCAB, 2, -1.0), writers.sources_of(9, VOCAB, 6)
    search = BeamSearch(size=800, n_best=5, length_penalty=0.0, **SHORT)
    found = search.run(tree, writers.batch_of(sources), features=[NoRepeatFeature(size=size)])
    for row, source in zip(found, sources, strict=True):
        every = [one for one in writers.every(tree, source, LIMIT, VOCAB) if one.has_end]
        wanted = sorted((one for one in every if not repeats(one.ids, size)), key=lambda one: -one.score)
        assert [one.ids for one in row] == [one.ids for one in wanted[:5]]


@pytest.mark.parametrize("weight", [0.3, -0.3])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_log_linear_sum_by_hand(writers, weight, penalty):
    """(log p + 0.7 for each word) / n^penalty + coverage, the best of all targets; rewards of both signs."""
    tree, sources = writers.drawn(VOCAB, 3), writers.sources_of(9, VOCAB, 6)
    features = [LengthFeature(weight=0.7), CoverageFeature(weight=weight)]
    search = BeamSearch(size=800, n_best=5, length_penalty=penalty, **SHORT)
    for row, source in zip(search.run(tree, writers.batch_of(sources), features=features), sources, strict=True):
        wanted = []
        for one in writers.every(tree, source, LIMIT, VOCAB):
            if one.has_end:
                total = (one.score + 0.7 * len(one.ids)) / len(one.log_probs) ** penalty
                wanted.append(one._replace(score=total + covered(writers, source, one, weight)))
        wanted.sort(key=lambda one: -one.score)
        assert [one.ids for one in row] == [one.ids for one in wanted[:5]]
        for one, other in zip(row, wanted, strict=False):
            assert one.score == pytest.approx(other.score, abs=1e-5)  # coverage is summed in float32
            assert one.log_probs == pytest.approx(other.log_probs, abs=1e-12)


@pytest.mark.parametrize("weight", [0.5, -0.5])
def test_coverage_alone_never_stops_a_search_too_early(writers, weight):
    tree, batch = writers.drawn(VOCAB, 4), writers.batch_of(writers.sources_of(100, VOCAB, 8))
    search = BeamSearch(size=3, n_best=2)
    early = search.run(tree, batch, features=[CoverageFeature(weight=weight)])
    assert early == search.run(tree, batch, features=[CoverageFeature(weight=weight), writers.Zero()])


def test_states_follow_their_rows_through_a_narrow_beam(writers):
    """Hypotheses change places all the time; what is told of each is what its own words give from scratch."""
    tree, sources = writers.drawn(VOCAB, 5), writers.sources_of(40, VOCAB, 8)
    features = [CoverageFeature(weight=0.4), NoRepeatFeature(size=2), LengthFeature(weight=0.1)]
    found = BeamSearch(size=4, n_best=4).run(tree, writers.batch_of(sources), features=features)
    for row, source in zip(found, sources, strict=True):
        for one in (one for one in row if one.has_end):
            total = (sum(one.log_probs) + 0.1 * len(one.ids)) / len(one.log_probs)
            assert one.score == pytest.approx(total + covered(writers, source, one, 0.4), abs=1e-5)
            assert not repeats(one.ids, 2)


def test_what_is_cut_off_has_no_end_to_score(writers):
    tree, batch = writers.constant([0, 0, 0, 0.5, 0.3, 0.2]), writers.batch_of([[5, EOS]])
    [[greedy]] = GreedySearch(**SHORT).run(tree, batch, features=[CoverageFeature()])
    [[beam]] = BeamSearch(size=1, length_penalty=0.0, **SHORT).run(tree, batch, features=[CoverageFeature()])
    assert greedy == beam
    assert greedy.score == pytest.approx(LIMIT * math.log(0.5))


def test_every_feature_keeps_padding_out_of_targets(writers):
    tree, batch = writers.drawn(VOCAB, 6), writers.batch_of(writers.sources_of(20, VOCAB, 8))
    for feature in (FEATURES[name]() for name in FEATURES):
        for [one] in BeamSearch().run(tree, batch, features=[] if feature.reads_tables else [feature]):
            assert not {PAD, BOS, EOS} & set(one.ids)
