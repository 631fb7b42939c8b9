"""Ends: limits, least lengths, nothing to write, no way on, ties."""

import math

import pytest

from regard.decoding import SEARCHES, GreedySearch
from regard.decoding.beam import BeamSearch
from regard.decoding.features.no_repeat import NoRepeatFeature
from regard.decoding.sampling import SamplingSearch
from regard.records import BOS, EOS, PAD, UNK

VOCAB = 6
NAMES = list(SEARCHES)
NEVER_ENDS = [0.0, 0.0, 0.0, 0.5, 0.3, 0.2]
ENDS = [0.0, 0.0, 0.97, 0.01, 0.01, 0.01]


@pytest.fixture(params=NAMES)
def search(request):
    return request.param


def test_a_target_is_no_longer_than_its_own_limit(writers, search):
    lengths = [1, 4, 2, 9]
    batch = writers.batch_of([[UNK] * (length - 1) + [EOS] for length in lengths])
    found = SEARCHES[search](max_ratio=1.5, max_extra=2).run(writers.constant(NEVER_ENDS), batch)
    for (one, *_), length in zip(found, lengths, strict=True):
        assert len(one.ids) == len(one.log_probs) == int(1.5 * length) + 2
        assert not one.finished


def test_eos_counts_against_the_limit(writers, search):
    """A target of the limit's length with its EOS is finished; one word later it would not be."""
    tree = writers.Tree(lambda source, written: [math.log(p) if p else -math.inf for p in wanted(len(written))])

    def wanted(place):
        return [0, 0, 1, 0, 0, 0] if place == 3 else [0, 0, 0, 1, 0, 0]

    for limit, finished in ((4, True), (3, False)):
        [[one]] = SEARCHES[search](max_ratio=0.0, max_extra=limit).run(tree, writers.batch_of([[EOS]]))
        assert (one.ids, one.finished, len(one.log_probs)) == ([UNK] * 3, finished, limit)
        assert one.score == 0


def test_no_target_is_longer_than_its_writer_can_write(writers, search):
    """However long the source is; and where the writer can write none, one id is tried, as of an empty source."""
    tree, batch = writers.constant(NEVER_ENDS), writers.batch_of([[UNK] * 8 + [EOS], [EOS]])
    for most, lengths in ((6, [6, 3]), (2, [2, 2]), (-1, [1, 1])):
        tree.most = most
        found = SEARCHES[search](max_ratio=1.0, max_extra=2).run(tree, batch)
        assert [len(one.ids) for one, *_ in found] == lengths


def test_eos_may_come_first(writers):
    for search in (GreedySearch(), BeamSearch(size=3)):
        [[one]] = search.run(writers.constant(ENDS), writers.batch_of([[UNK, EOS]]))
        assert (one.ids, one.finished) == ([], True)
        assert one.log_probs == pytest.approx([math.log(0.97)])


@pytest.mark.parametrize("least", [1, 4])
def test_no_end_before_the_least_length(writers, search, least):
    [[one]] = SEARCHES[search](min_length=least).run(writers.constant(ENDS), writers.batch_of([[UNK, EOS]]))
    assert len(one.ids) >= least
    assert search == "sampling" or len(one.ids) == least


def test_padding_and_bos_are_never_written(writers, search):
    tree = writers.constant([0.45, 0.45, 0.01, 0.03, 0.03, 0.03])
    [[one]] = SEARCHES[search]().run(tree, writers.batch_of([[UNK, EOS]]))
    assert not {PAD, BOS, EOS} & set(one.ids)


@pytest.mark.parametrize("settings", [{}, {"n_best": 2}])
def test_an_empty_batch_has_no_targets(writers, search, settings):
    if search != "greedy" or not settings:
        assert SEARCHES[search](**settings).run(writers.constant(ENDS), writers.batch_of([])) == []


def test_a_beam_may_be_wider_than_the_vocabulary(writers):
    tree, batch = writers.drawn(VOCAB, 1), writers.batch_of(writers.sources_of(9, VOCAB, 5))
    for found in BeamSearch(size=40, n_best=40, max_extra=1, max_ratio=0.0).run(tree, batch):
        assert [one.ids for one in found] == [[]]


def test_what_never_ends_is_answered_by_the_best_unfinished(writers):
    batch = writers.batch_of([[EOS]])
    [found] = BeamSearch(size=4, n_best=3, max_ratio=0.0, max_extra=2).run(writers.constant(NEVER_ENDS), batch)
    assert [one.ids for one in found] == [[3, 3], [3, 4], [4, 3]]
    assert [one.score for one in found] == pytest.approx([math.log(0.25) / 2, math.log(0.15) / 2, math.log(0.15) / 2])
    assert not any(one.finished for one in found)


def test_impossible_beams_are_no_answer(writers):
    """One word is possible: a beam of five has one hypothesis, not four that cannot be."""
    tree = writers.constant([0, 0, 0, 1, 0, 0])
    [found] = BeamSearch(size=5, n_best=5, max_ratio=0.0, max_extra=3).run(tree, writers.batch_of([[EOS]]))
    assert [one.ids for one in found] == [[UNK] * 3]


def test_where_no_word_may_stand_the_target_ends(writers, search):
    """Every word was written once and none may stand twice: only the end is left, however short the target is."""
    tree = writers.constant([0.0, 0.0, 0.1, 0.4, 0.3, 0.2])
    features = [NoRepeatFeature(size=1)]
    [[one]] = SEARCHES[search](min_length=8).run(tree, writers.batch_of([[UNK, EOS]]), features=features)
    assert sorted(one.ids) == [3, 4, 5]
    assert one.finished
    assert one.log_probs[-1] == pytest.approx(math.log(0.1))
    assert math.isfinite(one.score)


def test_of_equal_words_the_lower_id_is_written(writers):
    tree, batch = writers.constant([0.0, 0.0, 0.1, *[0.09] * 10]), writers.batch_of([[EOS]])
    [[one]] = GreedySearch(min_length=4, max_extra=4).run(tree, batch)
    assert one.ids[:4] == [UNK] * 4
    [found] = BeamSearch(size=4, n_best=4, max_ratio=0.0, max_extra=2, min_length=2).run(tree, batch)
    assert [one.ids for one in found] == [[3, 3], [3, 4], [3, 5], [3, 6]]


def test_one_sample_needs_no_source(writers):
    """Without a source, line numbers tell rows apart."""
    tree = writers.constant(NEVER_ENDS)
    batch = writers.batch_of([[EOS], [EOS]])
    alone = batch._replace(columns={})
    tree.start = lambda batch: writers.Histories((((), ()),) * len(batch.lines))
    first, second = SamplingSearch(max_extra=30).run(tree, alone)
    assert len(first[0].ids) == 30
    assert first[0].ids != second[0].ids
