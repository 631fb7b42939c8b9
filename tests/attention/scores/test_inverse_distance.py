"""1 / (1 + |query - key|) by hand, and where the distance is 0."""

import torch
from torch import tensor
from torch.testing import assert_close

from regard.attention.scores.inverse_distance import InverseDistanceScore


def test_inverse_distance_by_hand():
    queries, keys = tensor([[0.0, 0.0], [3.0, 4.0]]), tensor([[3.0, 4.0], [0.0, 1.0]])
    expected = tensor([[1 / 6, 1 / 2], [1.0, 1 / (1 + 18**0.5)]])
    assert_close(InverseDistanceScore(2, 2)(queries, keys, None), expected)


def test_equal_vectors_have_a_gradient_of_zero():
    """There the distance has no derivative: a network that shares its weights meets it at every common word."""
    query = torch.randn(1, 3, requires_grad=True)
    InverseDistanceScore(3, 3)(query, query.detach().clone(), None).sum().backward()
    assert_close(query.grad, torch.zeros(1, 3), rtol=0, atol=0)
