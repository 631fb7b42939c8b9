"""Draws against the distribution, and the streams of numbers they are made with."""

import math
import random

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.decoding import GreedySearch
from regard.decoding.sampling import SamplingSearch, uniforms
from regard.records import EOS, UNK

VOCAB = 7
ONE_WORD = {"max_ratio": 0.0, "max_extra": 1}
WORDS = [0.0, 0.0, 0.1, 0.4, 0.25, 0.2, 0.05]
MASK = 2**64 - 1


def distances(counts, probabilities):
    """Pearson's chi-square over the words that may be drawn; no other may have been."""
    total = sum(counts)
    assert all(count == 0 for count, p in zip(counts, probabilities, strict=True) if p == 0)
    return sum((c - total * p) ** 2 / (total * p) for c, p in zip(counts, probabilities, strict=True) if p)


def frequencies(writers, probabilities, draws=20_000, **settings):
    """How often each word is the first."""
    search = SamplingSearch(n_best=draws, **ONE_WORD, **settings)
    [found] = search.run(writers.constant(probabilities), writers.batch_of([[5, EOS]]))
    first = [one.ids[0] if one.ids else EOS for one in found]
    return [first.count(word) for word in range(len(probabilities))]


def tempered(probabilities, temperature):
    powers = [p ** (1 / temperature) if p else 0.0 for p in probabilities]
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_words_are_drawn_as_often_as_they_are_likely(writers, seed, temperature):
    counts = frequencies(writers, WORDS, seed=seed, temperature=temperature)
    assert distances(counts, tempered(WORDS, temperature)) < 20  # 4 degrees of freedom: 1 in 2,000 is above


def test_second_words_are_drawn_by_what_came_first(writers):
    tree = writers.drawn(VOCAB, 4)
    search = SamplingSearch(n_best=20_000, max_ratio=0.0, max_extra=2)
    [found] = search.run(tree, writers.batch_of([[EOS]]))
    for first in range(UNK, VOCAB):
        likely = [math.exp(each) if word >= EOS else 0.0 for word, each in enumerate(tree.log_probs((EOS,), (first,)))]
        second = [[*one.ids, EOS][1] for one in found if one.ids[:1] == [first]]
        counts = [second.count(word) for word in range(VOCAB)]
        assert distances(counts, [p / sum(likely) for p in likely]) < 20


def test_samples_of_one_sentence_are_independent(writers):
    [found] = SamplingSearch(n_best=10_000, max_ratio=0.0, max_extra=2, min_length=2).run(
        writers.constant([0, 0, 0, 0.5, 0.5]), writers.batch_of([[EOS]])
    )
    pairs = [tuple(one.ids) for one in found]
    counts = [pairs.count(pair) for pair in ((3, 3), (3, 4), (4, 3), (4, 4))]
    assert distances(counts, [0.25] * 4) < 18  # 3 degrees of freedom


@pytest.mark.parametrize("settings", [{"temperature": 1e-4}, {"top_k": 1}, {"top_p": 1e-9}])
def test_what_leaves_one_word_is_greedy(writers, settings, assert_agrees):
    for ends in (0.0, 1.0):
        tree, batch = writers.drawn(VOCAB, 5, ends), writers.batch_of(writers.sources_of(100, VOCAB, 7))
        drawn, greedy = (search.run(tree, batch) for search in (SamplingSearch(**settings), GreedySearch()))
        for [one], [other] in zip(drawn, greedy, strict=True):  # at the limit greedy ends, and a draw is cut off
            assert (one.ids if one.finished else one.ids[:-1]) == other.ids
        drawn, greedy = zip(
            *((one, other) for one, other in zip(drawn, greedy, strict=True) if one[0].finished), strict=True
        )
        mine, oracle = (torch.tensor([one.score for [one] in found], dtype=torch.float64) for found in (drawn, greedy))
        assert_agrees("C06", mine, oracle, tolerance=0.0)


@pytest.mark.parametrize("top_k", [1, 2, 3, 6, 50])
def test_top_k_keeps_k_words_though_they_tie(top_k):
    kept = SamplingSearch(top_k=top_k).probabilities(torch.tensor([[0.0, 1.0, 1.0, 1.0, 2.0, -1.0]]))
    best = [4, 1, 2, 3, 0, 5][:top_k]
    assert sorted(kept[0].nonzero().flatten().tolist()) == sorted(best)


@pytest.mark.parametrize("top_p", [0.05, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("top_k", [0, 5])
def test_top_p_keeps_the_smallest_set_that_is_enough(top_p, top_k, assert_agrees):
    scores = torch.randn(200, 12, dtype=torch.float64) * 2
    whole = scores.softmax(dim=-1)
    kept = SamplingSearch(top_p=top_p, top_k=top_k).probabilities(scores)
    for sure, row in zip(whole.tolist(), kept.tolist(), strict=True):
        order = sorted(range(12), key=lambda word: -sure[word])[: top_k or 12]
        enough, total = [], sum(sure[word] for word in order)
        while sum(sure[word] for word in enough) < top_p * total:
            enough.append(order[len(enough)])
        assert {word for word, p in enumerate(row) if p} == set(enough)
    assert_agrees("C06", kept, whole.where(kept > 0, 0.0), tolerance=1e-15)


def test_truncated_draws_keep_their_proportions(writers):
    counts = frequencies(writers, WORDS, top_p=0.8)  # 0.4 + 0.25 + 0.2
    assert distances(counts, [0, 0, 0, 0.4 / 0.85, 0.25 / 0.85, 0.2 / 0.85, 0]) < 16  # 2 degrees of freedom


def test_same_seed_same_text_in_any_order(writers):
    tree, sources = writers.drawn(VOCAB, 6), writers.sources_of(40, VOCAB, 8)
    search, other = SamplingSearch(n_best=3, seed=4), SamplingSearch(n_best=3, seed=5)
    found = dict(zip(map(tuple, sources), search.run(tree, writers.batch_of(sources)), strict=True))
    shuffled = random.Random(1).sample(sources, len(sources))
    for size in (1, 7, 40):
        for first in range(0, 40, size):
            some = shuffled[first : first + size]
            again = search.run(tree, writers.batch_of(some, width=9))
            assert again == [found[tuple(source)] for source in some]
    changed = other.run(tree, writers.batch_of(sources))
    assert sum(one != found[tuple(source)] for one, source in zip(changed, sources, strict=True)) > 35


def test_more_samples_leave_the_first_as_they_were(writers):
    tree, batch = writers.drawn(VOCAB, 6), writers.batch_of([[4, 5, EOS]])
    few, many = (SamplingSearch(n_best=count).run(tree, batch)[0] for count in (3, 12))
    assert {tuple(one.ids) for one in few} <= {tuple(one.ids) for one in many}
    assert [one.score for one in many] == sorted((one.score for one in many), reverse=True)


def splitmix64(seed, step):
    mixed = (seed + (step + 1) * 0x9E3779B97F4A7C15) & MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
    return mixed ^ (mixed >> 31)


def test_the_streams_are_splitmix64():
    assert splitmix64(1234567, 0) == 6457827717110365317  # the generator's published test value
    seeds = [0, 1, 1234567, 2**63, MASK, *(random.Random(3).getrandbits(64) for _ in range(50))]
    for step in (0, 1, 7, 1000):
        wanted = [(splitmix64(seed, step) >> 11) / 2**53 for seed in seeds]
        assert uniforms(np.array(seeds, np.uint64), step).tolist() == wanted


def test_numbers_are_uniform():
    drawn = torch.from_numpy(np.stack([uniforms(np.arange(1000, dtype=np.uint64), step) for step in range(200)]))
    assert float(drawn.min()) >= 0.0
    assert float(drawn.max()) < 1.0
    assert_close(drawn.mean(), torch.tensor(0.5, dtype=torch.float64), rtol=0, atol=4 * 12**-0.5 / 200_000**0.5)
    assert_close(drawn.var(), torch.tensor(1 / 12, dtype=torch.float64), rtol=0, atol=4 * 180**-0.5 / 200_000**0.5)
