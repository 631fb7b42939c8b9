"""The selection of the largest values, against a stable sort."""

import pytest
import torch

from regard.ops.topk import top

SIZES = [1, 5, 1999, 2000, 2001, 4096, 7919, 8000, 9999, 10_000, 12_000]


def check(values, count):
    wanted, places = values.sort(dim=-1, descending=True, stable=True)
    found, where = top(values, count)
    count = min(count, values.shape[-1])
    assert torch.equal(found, wanted[..., :count])
    assert torch.equal(found, values.topk(count, dim=-1).values)
    assert torch.equal(where, places[..., :count])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [1, 2, 6, 40, 200])
def test_top_is_the_head_of_a_sorted_list(size, count):
    check(torch.randn(9, size), count)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [1, 2, 6, 40])
@pytest.mark.parametrize("levels", [1, 3, 50])
def test_of_equals_the_lower_ids_are_first(size, count, levels):
    check(torch.randint(levels, (9, size)).float(), count)


@pytest.mark.parametrize("size", [7, 2000, 9999, 10_000])
def test_top_among_values_that_may_not_be(size):
    values = torch.randn(9, size)
    values[:, 3:] = float("-inf")
    values[4] = float("-inf")
    check(values, 6)


def test_random_sizes():
    for size in torch.randint(2000, 12_000, (60,)).tolist():
        values = torch.randn(4, size).round(decimals=2)
        for count in (1, 5, 11):
            check(values, count)


def test_any_leading_axes():
    check(torch.randn(2, 3, 4000), 5)
    check(torch.randn(0, 4000), 5)
    check(torch.randn(0, 40), 5)
