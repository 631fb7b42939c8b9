"""Additive scores in chunks against the plain formula, and how much they hold at once."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from regard.attention.kernels import chunked
from regard.attention.kernels.chunked import additive_scores
from regard.attention.scores.additive import AdditiveScore
from regard.attention.scores.concat import ConcatScore
from regard.attention.scores.coverage import CoverageScore
from regard.attention.scores.mlp import MlpScore
from regard.ops.plain import plain

Inputs = tuple[Tensor, Tensor, Tensor]
SHAPES = [  # of queries and of keys
    ((2, 5, 3), (2, 7, 3)),
    ((5, 3), (7, 3)),
    ((2, 3, 1, 3), (2, 3, 7, 3)),  # one query a row, as in a window or a step of a decoder
    ((2, 3, 5, 3), (2, 1, 7, 3)),
    ((4, 3), (2, 7, 3)),
    ((9, 5, 3), (9, 1, 3)),
    ((1, 40, 3), (1, 40, 3)),
    ((2, 5, 40), (2, 3, 40)),  # one pair fills a chunk
]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks so small that each shape needs many, with remainders; nothing is too little for them."""
    for name, value in {"FEW_NUMBERS": 0, "FEW_TO_LEARN": 0, "CHUNK_NUMBERS": 40, "QUERIES": 2}.items():
        monkeypatch.setattr(chunked, name, value)


def inputs(queries: tuple[int, ...], keys: tuple[int, ...], dtype: torch.dtype = torch.float64) -> Inputs:
    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape).to(dtype).requires_grad_()

    return drawn(*queries), drawn(*keys), drawn(queries[-1])


def naive(queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    return (torch.tanh(queries.unsqueeze(-2) + keys.unsqueeze(-3)) * vector).sum(-1)


def run(function: Any, given: Inputs) -> list[Tensor]:
    scores = function(*given)
    return [scores, *torch.autograd.grad(scores.sin().sum(), given)]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_values_and_gradients_equal_the_plain_formula(shapes, small, assert_agrees):
    given = inputs(*shapes)
    fast, slow = run(additive_scores, given), run(naive, given)
    for one, other in zip(fast, slow, strict=True):
        assert_agrees("A05", one, other)
    with plain():
        assert_close(run(additive_scores, given), slow)


def test_the_sizes_that_ship_equal_the_plain_formula():
    given = inputs((3, 40, 100), (3, 100, 100))
    assert given[0].numel() * 100 > max(chunked.CHUNK_NUMBERS, chunked.FEW_TO_LEARN)
    assert_close(run(additive_scores, given), run(naive, given))


@pytest.mark.parametrize("size", [1.0, 0.01])
def test_float32_is_as_near_as_the_plain_formula(size, small):
    """Near 0, too, where the digits of a tanh that is computed from exponentials are few."""
    given = tuple((size * one).detach().requires_grad_() for one in inputs((2, 30, 64), (2, 40, 64), torch.float32))
    exact = run(naive, tuple(one.detach().double().requires_grad_() for one in given))
    for one, other in zip(run(additive_scores, given), exact, strict=True):
        assert (one - other).abs().max() <= 1e-5 * other.abs().max()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_float32(dtype, small):
    given = inputs((2, 5, 8), (2, 7, 8), dtype)
    scores, *gradients = run(additive_scores, given)
    assert {one.dtype for one in (scores, *gradients)} == {dtype}
    assert_close(scores, naive(*(one.detach().float() for one in given)).to(dtype))


def test_under_autocast_scores_are_those_of_float32(small):
    given = inputs((2, 5, 8), (2, 7, 8), torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(run(additive_scores, given)[0], naive(*given))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("wild", ["queries", "keys", "both"])
def test_sums_far_beyond_what_an_exponential_can_hold(wild, dtype, small):
    """Wild queries and keys that cancel must still do so, and nothing may become NaN."""
    queries, keys, vector = inputs((1, 4, 3), (1, 5, 3), dtype)
    far = torch.tensor([-1e4, -400.0, -50.0, -40.0, 40.0, 50.0, 400.0, 1e4], dtype=dtype)
    with torch.no_grad():
        if wild != "keys":
            queries.copy_(far[torch.randint(8, queries.shape)])
        if wild != "queries":
            keys.copy_(far[torch.randint(8, keys.shape)])
        if wild == "both":
            keys[:, :4] = 0.5 - queries
    fast, slow = run(additive_scores, (queries, keys, vector)), run(naive, (queries, keys, vector))
    assert all(bool(one.isfinite().all()) for one in fast)
    assert_close(fast, slow)


def test_a_number_that_is_none_stays_visible(small):
    queries, keys, vector = inputs((1, 2, 3), (1, 2, 3))
    keys.data[0, 1, 2] = float("nan")
    assert additive_scores(queries, keys, vector).isnan().tolist() == [[[False, True], [False, True]]]


def test_a_key_changes_its_own_score_alone(small):
    queries, keys, vector = inputs((2, 5, 3), (2, 7, 3))
    changed = keys.detach().clone()
    changed[:, 3] = 1e6
    before, after = additive_scores(queries, keys, vector), additive_scores(queries, changed, vector)
    others = [0, 1, 2, 4, 5, 6]
    assert_close(before[..., others], after[..., others], rtol=0, atol=0)


@pytest.mark.parametrize("shapes", SHAPES[:3], ids=str)
def test_gradients_and_second_derivatives_are_those_of_finite_differences(shapes, small):
    given = inputs(*shapes)
    assert torch.autograd.gradcheck(additive_scores, given)
    assert torch.autograd.gradgradcheck(additive_scores, given)


def test_transforms_of_functions_get_the_plain_formula(small):
    queries, keys, vector = inputs((2, 5, 3), (2, 7, 3))
    wanted = torch.autograd.grad(naive(queries, keys, vector).sin().sum(), vector)[0]
    assert_close(torch.func.grad(lambda one: additive_scores(queries, keys, one).sin().sum())(vector), wanted)
    each = torch.func.vmap(additive_scores, in_dims=(0, 0, None))(queries, keys, vector)
    assert_close(each, naive(queries, keys, vector))


def test_compiled_equals_eager(small):
    given = inputs((2, 5, 3), (2, 7, 3))
    compiled = torch.compile(additive_scores, backend="aot_eager", fullgraph=True)
    assert_close(run(compiled, given), run(additive_scores, given))


def test_a_compiler_sees_no_tensor_of_all_pairs(small):
    axes = list[int]()

    def backend(graph: torch.fx.GraphModule, _: object) -> Any:
        made = (node.meta.get("example_value") for node in graph.graph.nodes)
        axes.extend(one.dim() for one in made if isinstance(one, Tensor))
        return graph.forward

    torch.compiler.reset()
    torch.compile(additive_scores, backend=backend, fullgraph=True)(*inputs((2, 5, 3), (2, 7, 3)))
    assert axes and max(axes) == 3  # (row, query, key, hidden) would have 4


def test_gradients_are_exact_under_autocast(small):
    given = inputs((2, 5, 3), (2, 7, 3), torch.float32)
    wanted = run(additive_scores, given)
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(run(additive_scores, given), wanted)


class Largest(TorchDispatchMode):
    """The size of the largest tensor that was made."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        made = [one.untyped_storage().nbytes() // one.itemsize for one in tree_leaves(out) if isinstance(one, Tensor)]
        self.numbers = max([self.numbers, *made])
        return out


DIM, QUERY, KEY = 64, 40, 50


@pytest.mark.parametrize(
    "score",
    [
        AdditiveScore(DIM, DIM, hidden_dim=DIM),
        ConcatScore(DIM, DIM, hidden_dim=DIM),
        MlpScore(DIM, DIM, hidden_dim=DIM),
        MlpScore(DIM, DIM, hidden_dim=DIM, num_layers=2, activation="relu"),
        CoverageScore(DIM, DIM, hidden_dim=DIM),
    ],
    ids=["additive", "concat", "mlp", "deep-mlp", "coverage"],
)
def test_hidden_values_of_all_pairs_are_never_held_at_once(score, small, monkeypatch):
    monkeypatch.setattr(chunked, "CHUNK_NUMBERS", 2**11)
    monkeypatch.setattr(chunked, "SLICE", 2**13)
    queries, keys = torch.randn(3, QUERY, DIM), torch.randn(3, KEY, DIM)

    def step(score: nn.Module) -> int:
        prepared = score.prepare(keys)
        with Largest() as largest:
            past = (torch.zeros(3, KEY), torch.ones(3, KEY))
            score(queries, prepared, past).square().sum().backward()
        return largest.numbers

    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda one: kept.append(one.numel()) or one, lambda one: one):
        score(queries, score.prepare(keys), (torch.zeros(3, KEY), torch.ones(3, KEY)))
    inputs_size = 3 * max(QUERY, KEY) * (DIM + 1)
    assert max(kept) <= inputs_size
    assert step(score) <= max(inputs_size, 2**13, 3 * KEY * DIM)
    with plain():
        assert step(score) >= 3 * QUERY * KEY * DIM
