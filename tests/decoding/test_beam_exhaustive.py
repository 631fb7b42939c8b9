"""Beam search against every target there is."""

from functools import partial

import pytest
import torch

from regard.decoding import GreedySearch
from regard.decoding.beam import BeamSearch
from regard.decoding.features.length import LengthFeature
from regard.records import EOS, PAD, UNK

VOCAB, LIMIT = 6, 5
HUGE = 3 ** (LIMIT + 1)  # more than can be unfinished at once
NORMS = [("length", 0.0), ("length", 0.6), ("length", 1.0), ("gnmt", 0.6), ("gnmt", 1.0)]
SHORT = {"max_ratio": 0.0, "max_extra": LIMIT}


def divisor(kind: str, power: float, length: int) -> float:
    return ((5 + length) / 6 if kind == "gnmt" else length) ** power


def best_of(writers, tree, source, kind="length", power=1.0, least=0):
    """All finished targets with their scores, best first."""
    whole = writers.every(tree, source, LIMIT, VOCAB, least)
    ended = [one._replace(score=one.score / divisor(kind, power, len(one.log_probs))) for one in whole if one.has_end]
    return sorted(ended, key=lambda one: -one.score)


def plain(hypotheses, near=lambda value: value):
    """Hypotheses as values to compare; `near` allows for rounding."""
    return [(one.ids, one.has_end, near(one.score), near(one.log_probs)) for one in hypotheses]


def about(hypotheses):
    return plain(hypotheses, partial(pytest.approx, abs=1e-12))


def scores(found):
    """Of the best for each sentence."""
    return torch.tensor([hypotheses[0].score for hypotheses in found], dtype=torch.float64)


@pytest.mark.parametrize(("kind", "power"), NORMS)
@pytest.mark.parametrize("least", [0, 2])
@pytest.mark.parametrize("stop", ["exact", "full"])
def test_a_huge_beam_finds_the_best_of_all_targets(writers, kind, power, least, stop, assert_agrees):
    tree, sources = writers.drawn(VOCAB, 3), writers.sources_of(12, VOCAB, 6)
    settings = {"length_penalty": power, "normalisation": kind, "min_length": least, "stop": stop, **SHORT}
    found = BeamSearch(size=HUGE, n_best=7, **settings).run(tree, writers.batch_of(sources))
    wanted = [best_of(writers, tree, source, kind, power, least)[:7] for source in sources]
    for hypotheses, all_ in zip(found, wanted, strict=True):
        assert plain(hypotheses) == about(all_)
    assert_agrees("C14", scores(found), scores(wanted), tolerance=1e-12)


def test_n_best_may_be_all_there_are(writers):
    tree, source = writers.drawn(VOCAB, 4), [UNK, EOS]
    wanted = best_of(writers, tree, source)
    [found] = BeamSearch(size=2, n_best=HUGE, **SHORT).run(tree, writers.batch_of([source]))
    assert plain(found) == about(wanted)
    assert len(found) == sum(3**length for length in range(LIMIT))


@pytest.mark.parametrize(("kind", "power"), NORMS)
@pytest.mark.parametrize("n_best", [1, 3])
def test_stopping_early_loses_nothing(writers, kind, power, n_best):
    sources = writers.sources_of(200, VOCAB, 8)
    for ends in (0.0, 2.0):
        tree, batch = writers.drawn(VOCAB, 5, ends), writers.batch_of(sources)
        search = BeamSearch(size=3, n_best=n_best, length_penalty=power, normalisation=kind, max_extra=12)
        early, late = search.run(tree, batch), search.run(tree, batch, features=[writers.Zero()])
        for found, wanted in zip(early, late, strict=True):
            assert plain(found) == about(wanted)


def test_stopping_early_saves_steps(writers):
    sources = writers.sources_of(20, VOCAB, 8)
    early, late = writers.drawn(VOCAB, 5, 3.0), writers.drawn(VOCAB, 5, 3.0)
    BeamSearch(size=3).run(early, writers.batch_of(sources))
    BeamSearch(size=3).run(late, writers.batch_of(sources), features=[writers.Zero()])
    assert len(early.known) < len(late.known) / 2


def test_a_beam_of_one_is_greedy(writers, assert_agrees):
    sources = writers.sources_of(200, VOCAB, 8)
    for ends in (-3.0, 0.0, 1.0):
        tree, batch = writers.drawn(VOCAB, 6, ends), writers.batch_of(sources)
        greedy = GreedySearch(min_length=1).run(tree, batch)
        beam = BeamSearch(size=1, length_penalty=0.0, min_length=1).run(tree, batch)
        for found, wanted in zip(beam, greedy, strict=True):
            assert plain(found) == about(wanted)
        assert_agrees("C14", scores(beam), scores(greedy), tolerance=1e-12)


@pytest.mark.parametrize("power", [0.6, 1.0])
def test_a_full_beam_of_one_is_greedy_whatever_its_norm(writers, power):
    sources = writers.sources_of(100, VOCAB, 8)
    for ends in (-3.0, 0.0, 1.0):
        tree, batch = writers.drawn(VOCAB, 6, ends), writers.batch_of(sources)
        greedy = GreedySearch().run(tree, batch)
        beam = BeamSearch(size=1, length_penalty=power, stop="full").run(tree, batch)
        for [found], [wanted] in zip(beam, greedy, strict=True):
            assert (found.ids, found.log_probs) == (wanted.ids, pytest.approx(wanted.log_probs, abs=1e-12))
            assert found.score == pytest.approx(wanted.score / len(wanted.log_probs) ** power, abs=1e-12)


def test_an_exact_beam_of_one_may_go_on_past_the_first_end_and_only_gains(writers):
    tree, batch = writers.drawn(VOCAB, 6, 1.0), writers.batch_of(writers.sources_of(100, VOCAB, 8))
    greedy, beam = GreedySearch().run(tree, batch), BeamSearch(size=1, length_penalty=1.0).run(tree, batch)
    gains = [found.score - wanted.score / len(wanted.log_probs) for [found], [wanted] in zip(beam, greedy, strict=True)]
    assert min(gains) > -1e-12
    assert 0 < sum(gain > 1e-6 for gain in gains) < len(gains)
    assert all(
        found.ids == wanted.ids or len(found.ids) > len(wanted.ids)
        for [found], [wanted] in zip(beam, greedy, strict=True)
    )


def test_the_whole_beam_is_never_worse_than_greedy(writers):
    tree, batch = writers.drawn(VOCAB, 7, 1.0), writers.batch_of(writers.sources_of(50, VOCAB, 6))
    greedy = GreedySearch(**SHORT).run(tree, batch)
    beam = BeamSearch(size=HUGE, length_penalty=0.0, **SHORT).run(tree, batch)
    pairs = [(g[0].score, b[0].score) for g, b in zip(greedy, beam, strict=True) if g[0].has_end]
    assert all(score <= best + 1e-12 for score, best in pairs)
    assert any(score < best - 1e-3 for score, best in pairs)


@pytest.mark.parametrize("size", [2, 5, 50])
def test_the_n_best_differ_and_stand_in_order(writers, size):
    tree, batch = writers.drawn(VOCAB, 8), writers.batch_of(writers.sources_of(40, VOCAB, 6))
    for found in BeamSearch(size=size, n_best=size).run(tree, batch):
        assert len({tuple(one.ids) for one in found}) == len(found) <= size
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_the_score_is_the_writers_own(writers):
    tree, sources = writers.drawn(VOCAB, 9), writers.sources_of(40, VOCAB, 6)
    for found, source in zip(BeamSearch(size=4, n_best=4).run(tree, writers.batch_of(sources)), sources, strict=True):
        for one in found:
            told = [*one.ids, EOS] if one.has_end else one.ids
            each = [tree.log_probs(tuple(source), tuple(one.ids[:place]))[word] for place, word in enumerate(told)]
            assert one.log_probs == each
            assert one.score == pytest.approx(sum(each) / len(each), abs=1e-12)
            assert not {PAD, 1, EOS} & set(one.ids)


def test_bigger_batches_change_nothing(writers):
    tree, sources = writers.drawn(VOCAB, 10), writers.sources_of(60, VOCAB, 8)
    search = BeamSearch(size=4, n_best=3)
    together = search.run(tree, writers.batch_of(sources))
    alone = [search.run(tree, writers.batch_of([source]))[0] for source in sources]
    assert together == alone
    assert torch.equal(search.limits(tree, writers.batch_of(sources)), torch.tensor([2 * len(s) + 10 for s in sources]))


@pytest.mark.parametrize("weight", [-1.0, 0.5, 40.0])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_what_reaches_the_limit_ends_there_with_a_length_reward_too(writers, weight, power):
    """A huge beam finds the best of all targets; one of 5 as many words where the reward decides."""
    tree, sources = writers.drawn(VOCAB, 3), writers.sources_of(6, VOCAB, 6)
    for size in [HUGE, 5][: 1 + (weight == 40.0)]:
        search = BeamSearch(size=size, length_penalty=power, **SHORT)
        found = search.run(tree, writers.batch_of(sources), features=[LengthFeature(weight=weight)])
        for [best], source in zip(found, sources, strict=True):
            ended = [one for one in writers.every(tree, source, LIMIT, VOCAB) if one.has_end]
            scores = {
                tuple(one.ids): (one.score + weight * len(one.ids)) / len(one.log_probs) ** power for one in ended
            }
            wanted = max(scores, key=scores.__getitem__)
            assert best.has_end and len(best.log_probs) == len(best.ids) + 1
            if size == HUGE:
                assert (tuple(best.ids), best.score) == (wanted, pytest.approx(scores[wanted], abs=1e-9))
            else:
                assert len(best.ids) == len(wanted) == LIMIT - 1
                assert best.score == pytest.approx(scores[tuple(best.ids)], abs=1e-9)


@pytest.mark.parametrize("sure", [0.4, 0.6])
def test_an_end_at_the_limit_is_the_models_own_from_one_half_on(writers, sure):
    tree = writers.constant([0.0, 0.0, sure, *[(1 - sure) / 3] * 3])
    [[one]] = BeamSearch(size=2, min_length=2, max_ratio=0.0, max_extra=3).run(tree, writers.batch_of([[EOS]]))
    assert (len(one.ids), one.has_end, one.finished) == (2, True, sure > 0.5)
