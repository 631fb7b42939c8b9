"""What two texts have in common, by hand."""

import torch
from torch import tensor
from torch.testing import assert_close

from regard.models.pair_classifier import overlaps
from regard.records import Sequences

EOS = 3


def text(*rows: list[int]) -> Sequences:
    longest = max(map(len, rows))
    ids = tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    return Sequences(ids, torch.arange(longest) < tensor([[len(row)] for row in rows]))


def test_shares_of_common_pieces_by_hand():
    """3 of the first text's 4 pieces are in the second, which has 2 of its 3 in the first; padding is no piece."""
    found = overlaps(text([7, 8, 7, EOS], [5, EOS]), text([7, 9, EOS], [6]))
    assert_close(found, tensor([[3 / 4, 2 / 3, 1 / 7], [0.0, 0.0, 1 / 3]]))


def test_without_an_order_the_texts_can_be_swapped():
    first, second = text([7, 8, 7, EOS]), text([7, 9, EOS])
    assert_close(overlaps(first, second, ordered=False), tensor([[2 / 3, 3 / 4, 1 / 7]]))
    assert_close(overlaps(second, first, ordered=False), overlaps(first, second, ordered=False), rtol=0, atol=0)
