"""Phrase pairs: by hand, and all of them against a search over every pair of spans."""

import math
import random
from collections import Counter
from itertools import product

import numpy as np
import pytest

from regard.statistical.bitext import Bitext
from regard.statistical.phrase_extraction import Linked, extract_phrases
from regard.statistical.phrase_scores import DISCONTINUOUS, MONOTONE, SMOOTHING, SWAP, linked_lexicon, phrase_table

HAND = ("michael geht davon aus , dass", "michael assumes that", [(0, 0), (1, 1), (2, 1), (3, 1), (5, 2)])
SWAPPED = ("ja heute kam er", "he came today", [(1, 2), (2, 1), (3, 0)])


def spans(count: int, longest: int):
    return [(start, end) for start in range(count) for end in range(start + 1, min(count, start + longest) + 1)]


def slow_pairs(source, target, links, longest):
    """Every pair of spans with a link inside and none that crosses."""
    for (i, k), (j, m) in product(spans(len(source), longest), spans(len(target), longest)):
        inside = [i <= s < k and j <= t < m for s, t in links]
        crossing = [(i <= s < k) != (j <= t < m) for s, t in links]
        if any(inside) and not any(crossing):
            yield (i, k), (j, m)


def slow_orientations(source, target, links, pair):
    """To the previous and to the next phrase; corners of the sentence count as links."""
    (i, k), (j, m) = pair
    linked = {*links, (-1, -1), (len(source), len(target))}

    def one(monotone, swapped):
        return MONOTONE if monotone in linked else SWAP if swapped in linked else DISCONTINUOUS

    return one((i - 1, j - 1), (k, j - 1)), one((k, m), (i - 1, m))


def drawn_corpus(seed: int):
    """Short sentences of few words, links at random; some sentences are empty."""
    noise = random.Random(seed)
    for _ in range(12):
        source = [noise.choice("abc") for _ in range(noise.randrange(7))]
        target = [noise.choice("xyz") for _ in range(noise.randrange(7))]
        cells = list(product(range(len(source)), range(len(target))))
        yield source, target, sorted(noise.sample(cells, min(len(cells), noise.randrange(8))))


def read(corpus) -> tuple[Bitext, list]:
    corpus = list(corpus)
    return Bitext.of((source, target) for source, target, _ in corpus), [links for *_, links in corpus]


def test_the_phrases_of_one_sentence_by_hand():
    source, target, links = HAND[0].split(), HAND[1].split(), HAND[2]
    table = phrase_table(*read([(source, target, links)]))
    pairs = {(" ".join(phrase), " ".join(entry.target)) for phrase, entry in table}
    assert pairs == {
        ("michael", "michael"),
        ("michael geht davon aus", "michael assumes"),
        ("michael geht davon aus ,", "michael assumes"),
        ("michael geht davon aus , dass", "michael assumes that"),
        ("geht davon aus", "assumes"),
        ("geht davon aus ,", "assumes"),
        ("geht davon aus , dass", "assumes that"),
        (", dass", "that"),
        ("dass", "that"),
    }
    (entry,) = table.entries(["geht", "davon", "aus", ","])
    assert entry.links == ((0, 0), (1, 0), (2, 0))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("longest", [1, 3, 7])
def test_every_consistent_pair_is_found_once(seed, longest):
    corpus = list(drawn_corpus(seed))
    bitext, links = read(corpus)
    found = extract_phrases(bitext, Linked.of(bitext, links), longest)
    wanted = [
        (int(bitext.sources.offsets[n]) + i, k - i, int(bitext.targets.offsets[n]) + j, m - j)
        for n, (source, target, linked) in enumerate(corpus)
        for (i, k), (j, m) in slow_pairs(source, target, linked, longest)
    ]
    assert sorted(zip(*(side.tolist() for side in found), strict=True)) == sorted(wanted)


def slow_weight(words, others, links, lexicon) -> float:
    """log p of words given others, by the mean over the linked ones; `links` are (other, word)."""
    total = 0.0
    for place, word in enumerate(words):
        sources = [others[other] for other, one in links if one == place] or [""]
        total += math.log(sum(lexicon.get((source, word), 0.0) for source in sources) / len(sources))
    return total


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_loops(seed):
    corpus = list(drawn_corpus(seed))
    bitext, links = read(corpus)
    here, there = (
        {(source, target): p for source, target, p in linked_lexicon(text, Linked.of(text, some))[0]}
        for text, some in ((bitext, links), (bitext.flipped(), [[(t, s) for s, t in row] for row in links]))
    )
    pairs, weights, turns = Counter(), {}, {}
    for source, target, linked in corpus:
        for pair in slow_pairs(source, target, linked, 7):
            (i, k), (j, m) = pair
            name = tuple(source[i:k]), tuple(target[j:m])
            pairs[name] += 1
            inside = [(s - i, t - j) for s, t in linked if i <= s < k]
            both = (
                slow_weight(name[0], name[1], [(t, s) for s, t in inside], there),
                slow_weight(*name[::-1], inside, here),
            )
            weights.setdefault(name, []).append(both)
            turns.setdefault(name, []).append(slow_orientations(source, target, linked, pair))
    sources, targets = Counter(), Counter()
    for (source, target), count in pairs.items():
        sources[source] += count
        targets[target] += count
    table = phrase_table(bitext, links)
    assert {(source, entry.target) for source, entry in table} == set(pairs) and len(table) == len(pairs)
    for source, entry in table:
        name = source, entry.target
        frequencies = math.log(pairs[name] / targets[name[1]]), math.log(pairs[name] / sources[source])
        first, second = (max(one) for one in zip(*weights[name], strict=True))
        assert entry.scores == pytest.approx((frequencies[0], first, frequencies[1], second), abs=1e-5)
        assert entry.reordering == pytest.approx(tuple(slow_reordering(turns, name)), abs=1e-5)


def slow_reordering(turns, name):
    """Smoothed by the shares of all pairs, which are smoothed themselves."""
    for side in range(2):
        everywhere = Counter(one[side] for row in turns.values() for one in row)
        here = Counter(one[side] for one in turns[name])
        for kind in range(3):
            share = (everywhere[kind] + SMOOTHING) / (everywhere.total() + 3 * SMOOTHING)
            yield math.log((here[kind] + SMOOTHING * share) / (here.total() + SMOOTHING))


def test_orientations_by_hand():
    source, target, links = SWAPPED[0].split(), SWAPPED[1].split(), SWAPPED[2]
    table = phrase_table(*read([(source, target, links)]))

    def likeliest(phrase: str) -> tuple[int, int]:
        (entry,) = table.entries(phrase.split())
        return int(np.argmax(entry.reordering[:3])), int(np.argmax(entry.reordering[3:]))

    assert likeliest("kam") == (SWAP, SWAP)
    assert likeliest("er") == (DISCONTINUOUS, SWAP)  # the beginning of the target is not that of the source
    assert likeliest("ja heute kam er") == (MONOTONE, MONOTONE)


def test_the_likeliest_translations_are_kept():
    text = [("a", "x", [(0, 0)])] * 3 + [("a", "y", [(0, 0)])] * 2 + [("a", "z", [(0, 0)])]
    table = phrase_table(*read(text), limit=2)
    assert [entry.target for entry in table.entries("a")] == [("x",), ("y",)]
    assert [math.exp(entry.scores[2]) for entry in table.entries("a")] == pytest.approx([1 / 2, 1 / 3])


def test_no_links_give_no_phrases():
    assert len(phrase_table(*read([("a", "x", []), ("", "", [])]))) == 0
    assert len(phrase_table(*read([]))) == 0
