"""Vectors of sentences against the printed formula, word by word."""

import pytest
import torch
from torch.testing import assert_close

from regard.layers.sentence_table import SentenceTable, position_weights
from regard.records import PAD

VOCAB, DIM, TIMES, WORDS = 7, 4, 3, 5
LENGTHS = [5, 1, 3, 0]
MASK = torch.arange(WORDS) < torch.tensor(LENGTHS).unsqueeze(-1)
IDS = torch.tensor([[4, 5, 6, 5, 4], [6, 1, 1, 1, 1], [5, 5, 6, 1, 1], [1, 1, 1, 1, 1]])  # 1 under the mask, not PAD


def build(*, position_encoding: bool = True) -> SentenceTable:
    return SentenceTable(VOCAB, DIM, TIMES, position_encoding=position_encoding).double().requires_grad_(False)


def test_position_encoding_equals_the_printed_formula(assert_agrees):
    """l_kj = (1 - j/J) - (k/d)(1 - 2j/J), j and k from 1."""
    table, times = build(), torch.tensor([0, 2, 1, 0])
    found = table(IDS, MASK, times)
    for row, length in enumerate(LENGTHS):
        wanted = table.times.weight[times[row]].clone()
        for j in range(1, length + 1):
            for k in range(1, DIM + 1):
                weight = (1 - j / length) - (k / DIM) * (1 - 2 * j / length)
                wanted[k - 1] += weight * table.words.weight[IDS[row, j - 1], k - 1]
        assert_agrees("D13", found[row], wanted)


def test_weights_of_two_words_by_hand():
    weights = position_weights(torch.tensor([True, True]), 2)
    assert_close(weights, torch.tensor([[0.5, 0.5], [0.5, 1.0]]))  # j = 1: 1/2 - k/2 · 0; j = 2: 0 + k/2


@pytest.mark.parametrize("position_encoding", [True, False])
def test_only_position_encoding_tells_the_order(position_encoding):
    table = build(position_encoding=position_encoding)
    first, turned = (table(torch.tensor(ids), MASK[2]) for ids in ([4, 5, 6, 1, 1], [6, 5, 4, 1, 1]))
    assert torch.allclose(first, turned) is not position_encoding


def test_a_bag_is_the_sum_of_its_words():
    table = build(position_encoding=False)
    assert_close(table(IDS, MASK)[2], 2 * table.words.weight[5] + table.words.weight[6])
    assert_close(table(IDS, MASK)[3], torch.zeros(DIM, dtype=torch.float64))


def test_late_times_share_the_last_row():
    table = build()
    found = table(IDS[:1].expand(3, -1), MASK[:1], torch.tensor([TIMES - 1, TIMES, 100]))
    assert_close(found[1], found[0], rtol=0, atol=0)
    assert_close(found[2], found[0], rtol=0, atol=0)


def test_weights_begin_small_and_padding_has_none():
    table = SentenceTable(5000, 20, 10)
    assert float(table.words.weight.detach().std()) == pytest.approx(0.1, rel=0.05)
    assert bool((table.words.weight[PAD] == 0).all())
