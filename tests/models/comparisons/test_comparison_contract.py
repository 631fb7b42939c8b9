"""Every comparison keeps the contract: one vector for two texts, whatever stands beside or behind them."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.models.comparisons import COMPARISONS
from regard.models.comparisons.comparison import Comparison
from regard.records import Sequences
from regard.registry import Choice

DIM = 3
FIRST, SECOND = [5, 1, 2, 0, 3], [3, 4, 2, 2, 0]
MATCH = {"score": "inverse_distance", "weighting": "unnormalised"}
OWN = {"score": "dot", "span": "distance_bias"}
MADE = {
    **{name: Choice(name) for name in COMPARISONS},
    "siamese-max": Choice("siamese", {"pooling": Choice("max"), "hidden_dim": None}),
    "symmetric": Choice("siamese", {"symmetric": True, "hidden_dim": 4}),
    "intra": Choice("decomposable", {"hidden_dim": 4, "intra": OWN}),
    "differences": Choice("decomposable", {"hidden_dim": 4, "differences": True}),
    "abcnn-1": Choice("bcnn", {"hidden_dim": 4, "input_attention": MATCH}),
    "abcnn-2": Choice("bcnn", {"hidden_dim": 4, "kernel": 4, "pooling_attention": MATCH}),
    "abcnn-3": Choice("bcnn", {"hidden_dim": 4, "num_layers": 2, "input_attention": MATCH, "pooling_attention": MATCH}),
    "abcnn-short": Choice("bcnn", {"hidden_dim": 4, "max_length": 2, "input_attention": MATCH}),
}


def texts(lengths: list[int], longest: int | None = None) -> Sequences:
    longest = longest or max(lengths)
    mask = torch.arange(longest) < torch.tensor(lengths).unsqueeze(-1)
    return Sequences(torch.randn(len(lengths), longest, DIM, dtype=torch.float64), mask)


@pytest.fixture(params=MADE)
def comparison(request: pytest.FixtureRequest) -> Comparison:
    return COMPARISONS.build(MADE[request.param], DIM).double().eval()


def test_one_vector_for_each_pair(comparison):
    assert comparison(texts(FIRST), texts(SECOND)).shape == (len(FIRST), comparison.out_dim)


def test_batch_mates_change_nothing(comparison):
    first, second = texts(FIRST, 7), texts(SECOND, 5)
    together = comparison(first, second)
    for row, (n, m) in enumerate(zip(FIRST, SECOND, strict=True)):
        one, other = (
            Sequences(both.items[row : row + 1, :length], both.mask[row : row + 1, :length])
            for both, length in ((first, n), (second, m))
        )
        assert_close(comparison(one, other), together[row : row + 1])


def test_what_stands_under_padding_changes_nothing(comparison):
    first, second = texts(FIRST, 7), texts(SECOND, 5)
    dirty = [one._replace(items=one.items.masked_fill(~one.mask.unsqueeze(-1), 1e3)) for one in (first, second)]
    assert_close(comparison(*dirty), comparison(first, second), rtol=0, atol=0)


def test_gradients_are_those_of_finite_differences(comparison):
    first, second = texts([3, 2]), texts([2, 1])

    def compared(a: Tensor, b: Tensor) -> Tensor:
        return comparison(first._replace(items=a), second._replace(items=b))

    assert torch.autograd.gradcheck(compared, (first.items.requires_grad_(), second.items.requires_grad_()))


def test_two_equal_texts_have_finite_gradients(comparison):
    """Where the distance of two words is 0 its square root has no derivative."""
    first = texts(FIRST)
    first.items.requires_grad_()
    comparison(first, first).sum().backward()
    assert first.items.grad.isfinite().all()
    assert all(one.grad is None or one.grad.isfinite().all() for one in comparison.parameters())
