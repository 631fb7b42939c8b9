"""Stops and limits of a beam that other programs have, by hand on a writer of two words."""

import math

import pytest
import torch
from writers import batch_of

from regard.decoding import GreedySearch
from regard.records import EOS, Step

A, B = 4, 5
FIRST, LATER = {A: 0.6, B: 0.3, EOS: 0.1}, {A: 0.5, B: 0.4, EOS: 0.1}


class TwoWords:
    """Writes A, B or an end, whatever was written before but for the first word."""

    def __init__(self, place=0):
        self.place = place

    def longest(self, batch):
        return None

    def start(self, batch):
        return self

    def select(self, rows):
        return self

    def step(self, ids, state, *, need_weights=False):
        probabilities = torch.zeros(len(ids), 6, dtype=torch.float64)
        for word, one in (FIRST if state.place == 0 else LATER).items():
            probabilities[:, word] = one
        return Step(probabilities.log(), None), TwoWords(state.place + 1)


def found(search):
    return search.run(TwoWords(), batch_of([[A, A]]))[0][0]


def limited(**more):
    return {"max_ratio": 0.0, "max_extra": 3, **more}


def test_end_at_the_limit_has_its_probability():
    best = found(GreedySearch(**limited()))
    assert best.ids == [A, A]
    assert best.score == pytest.approx(math.log(0.6) + math.log(0.5) + math.log(0.1))


def test_free_end_costs_nothing():
    best = found(GreedySearch(**limited(at_limit="free")))
    assert best.ids == [A, A]
    assert best.score == pytest.approx(math.log(0.6) + math.log(0.5))


def test_cut_target_has_no_end():
    best = found(GreedySearch(**limited(at_limit="cut")))
    assert (best.ids, best.finished, best.has_end) == ([A, A, A], False, False)
    assert best.score == pytest.approx(math.log(0.6) + 2 * math.log(0.5))


def test_first_ids_cost_nothing():
    best = found(GreedySearch(**limited(at_limit="cut")).beginning([B]))
    assert best.ids == [B, A, A]
    assert best.score == pytest.approx(2 * math.log(0.5))
