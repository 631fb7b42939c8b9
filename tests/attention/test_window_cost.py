"""What a window costs, and when it is worth that."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from windowed import DIM, SPANS_HERE, small

from regard.attention import SCORES, SPANS, Attention
from regard.attention.kernels import choose
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.ops.plain import plain
from regard.registry import Choice


@pytest.mark.parametrize("span", ["band", "sparse", "monotonic", "same-position"])
def test_a_window_takes_memory_of_its_own_size(span):
    """Two thousand queries of two thousand keys, forward and backward: nothing of the size of the square is made, nor
    of the queries times the window times the dim."""
    num, dim, width = 2000, 16, 2 * 9 + 1
    attention = Attention(
        SCORES.build(Choice("dot"), dim, dim), SPANS.build(SPANS_HERE[span], dim, dim), SoftmaxWeighting(dim)
    )
    states = torch.randn(1, num, dim, requires_grad=True)

    def largest() -> int:
        with Largest() as mode:
            attention(states, attention.remember(states)).context.sum().backward()
        return mode.numbers

    assert largest() < num * width * dim / 2
    with plain():
        assert largest() >= num * num


class Largest(TorchDispatchMode):
    """The size of the largest tensor that was made."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.numbers = max([self.numbers, *(one.numel() for one in tree_leaves(out) if isinstance(one, Tensor))])
        return out


@pytest.mark.parametrize(
    ("num_queries", "num_keys", "score", "span", "taken"),
    [
        (200, 200, "dot", "band", True),
        (200, 200, "additive", "band", True),
        (40, 40, "additive", "band", False),  # short
        (100, 100, "dot", "band", False),  # short for a product
        (200, 200, "dot", "wide", False),  # a window of 41 is a fifth of all keys
        (200, 200, "additive", "wide", True),
        (200, 200, "dot", "predictive-wide", False),  # each query would copy keys of its own
        (1, 130, "dot", "predictive", True),
        (200, 200, "dot", "predictive", True),
        (200, 200, "coverage", "band", False),  # one by one
    ],
)
def test_few_keys_are_copied_where_that_is_quicker(num_queries, num_keys, score, span, taken, monkeypatch):
    used: list[int] = []
    by_window = choose.by_window
    monkeypatch.setattr(choose, "by_window", lambda *given, **named: used.append(1) or by_window(*given, **named))
    parts = SCORES.build(small(score), DIM, DIM), SPANS.build(SPANS_HERE[span], DIM, DIM), SoftmaxWeighting(DIM)
    attention = Attention(*parts)
    attention(torch.randn(1, num_queries, DIM), attention.remember(torch.randn(1, num_keys, DIM)))
    assert bool(used) == taken
