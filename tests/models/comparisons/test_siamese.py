"""[u; v; |u - v|; u · v] by hand, and the order of the texts."""

import pytest
import torch
from torch import Tensor, tensor
from torch.testing import assert_close

from regard.layers.pooling import POOLINGS
from regard.models.comparisons.siamese import SiameseComparison
from regard.records import Sequences
from regard.registry import Choice


def text(*rows: list[float]) -> Sequences:
    return Sequences(tensor([rows]), torch.ones(1, len(rows), dtype=torch.bool))


FIRST = text([1.0, -2.0], [3.0, 0.0])  # u = [2, -1] where the mean is taken, [3, 0] where the maximum is
SECOND = text([4.0, 1.0], [0.0, 3.0], [5.0, -1.0])  # v = [3, 1], or [5, 3]


@pytest.mark.parametrize(
    ("pooling", "u", "v"), [("mean", [2.0, -1.0], [3.0, 1.0]), ("max", [3.0, 0.0], [5.0, 3.0])], ids=["mean", "max"]
)
def test_what_is_compared_by_hand(pooling, u, v):
    u, v = tensor(u), tensor(v)
    distance, product = tensor([abs(a - b) for a, b in zip(u, v, strict=True)]), u * v
    siamese = SiameseComparison(2, pooling=Choice(pooling), hidden_dim=None)
    assert_close(siamese(FIRST, SECOND), torch.cat([u, v, distance, product]).unsqueeze(0))
    symmetric = SiameseComparison(2, pooling=Choice(pooling), hidden_dim=None, symmetric=True)
    assert_close(symmetric(FIRST, SECOND), torch.cat([distance, product]).unsqueeze(0))


def test_a_layer_stands_above_what_is_compared():
    siamese = SiameseComparison(2, pooling=Choice("mean"), hidden_dim=3).eval()
    linear = next(one for one in siamese.modules() if hasattr(one, "weight"))
    compared = tensor([[2.0, -1.0, 3.0, 1.0, 1.0, 2.0, 6.0, -1.0]])
    expected: Tensor = (compared @ linear.weight.T + linear.bias).clamp(min=0)
    assert_close(siamese(FIRST, SECOND), expected)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_symmetric_texts_can_be_swapped(pooling):
    siamese = SiameseComparison(2, pooling=Choice(pooling), hidden_dim=5, symmetric=True).eval()
    assert_close(siamese(FIRST, SECOND), siamese(SECOND, FIRST), rtol=0, atol=0)
    ordered = SiameseComparison(2, pooling=Choice(pooling), hidden_dim=None).eval()
    assert not torch.allclose(ordered(FIRST, SECOND), ordered(SECOND, FIRST))
