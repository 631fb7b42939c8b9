"""Scores that are products of vectors, by hand and against torch's own."""

import math

import pytest
import torch
from torch import Tensor, tensor
from torch.nn import functional
from torch.testing import assert_close

from regard.attention import Attention
from regard.attention.scores.bilinear import BilinearScore
from regard.attention.scores.cosine import CosineScore
from regard.attention.scores.dot import DotScore
from regard.attention.scores.euclidean import EuclideanScore
from regard.attention.scores.modulus import ModulusScore
from regard.attention.scores.relu_dot import ReluDotScore
from regard.attention.scores.scaled_dot import ScaledDotScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.errors import ConfigError

DIM = 6


def random(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype)


@pytest.fixture
def queries() -> Tensor:
    return random(2, 3, DIM)


@pytest.fixture
def keys() -> Tensor:
    return random(2, 5, DIM)


def scores_of(score, queries: Tensor, keys: Tensor) -> Tensor:
    return score(queries, score.prepare(keys), None)


def test_dot_is_a_sum_of_products(queries, keys, assert_agrees):
    wanted = torch.stack([torch.stack([(q * k).sum(-1) for k in keys.unbind(1)], -1) for q in queries.unbind(1)], 1)
    assert_agrees("A02", scores_of(DotScore(DIM, DIM), queries, keys), wanted)


def test_dot_is_bilinear_with_the_identity(queries, keys, assert_agrees):
    bilinear = BilinearScore(DIM, DIM).double()
    torch.nn.init.eye_(bilinear.from_key.weight)
    assert_agrees("A02", scores_of(DotScore(DIM, DIM), queries, keys), scores_of(bilinear, queries, keys))


def test_scaled_dot_is_dot_over_the_root_of_dim(assert_agrees):
    queries, keys = random(2, 9), random(4, 9)
    assert_agrees("A03", scores_of(ScaledDotScore(9, 9), queries, keys), scores_of(DotScore(9, 9), queries, keys) / 3)


def test_scaled_dot_keeps_the_variance_of_independent_features():
    queries, keys = random(400, 64), random(400, 64)
    assert 0.95 <= scores_of(ScaledDotScore(64, 64), queries, keys).var() <= 1.05


def test_bilinear_by_hand():
    score = BilinearScore(2, 2)
    score.from_key.weight.data = tensor([[0.0, 1.0], [1.0, 0.0]])  # swaps the two features
    assert scores_of(score, tensor([[1.0, 2.0]]), tensor([[3.0, 4.0]])).item() == 1 * 4 + 2 * 3


def test_bilinear_equals_torch_bilinear(assert_agrees):
    score = BilinearScore(3, 5).double()
    queries, keys = random(4, 3), random(4, 5)
    wanted = functional.bilinear(queries, keys, score.from_key.weight.unsqueeze(0)).squeeze(-1)
    assert_agrees("A04", scores_of(score, queries, keys).diagonal(), wanted)


def test_scaled_luong_is_a_learned_multiple_of_bilinear(assert_agrees):
    score = BilinearScore(3, 5, scaled=True).double()
    queries, keys = random(4, 3), random(6, 5)
    wanted = queries @ score.from_key.weight @ keys.t()
    assert_agrees("A09", scores_of(score, queries, keys), wanted)  # g is 1 at the start
    score.scale.data.fill_(-2.5)
    scores = scores_of(score, queries, keys)
    assert_agrees("A09", scores, -2.5 * wanted)
    assert_close(torch.autograd.grad(scores.sum(), score.scale)[0], wanted.sum())


@pytest.mark.parametrize("learned", [True, False])
def test_cosine_equals_torch_cosine_similarity(learned, queries, keys, assert_agrees):
    score = CosineScore(DIM, DIM, beta=3.0, learned=learned).double()
    wanted = 3 * functional.cosine_similarity(queries.unsqueeze(2), keys.unsqueeze(1), dim=-1)
    assert_agrees("A08", scores_of(score, queries, keys), wanted)


def test_cosine_starts_at_beta_1_and_learns_it():
    score = CosineScore(2, 2)
    query = tensor([[3.0, 4.0]])
    scores = scores_of(score, query, tensor([[6.0, 8.0], [-4.0, 3.0], [-3.0, -4.0]]))
    assert_close(scores, tensor([[1.0, 0.0, -1.0]]))
    scores[0, 0].backward()
    assert_close(score.sharpness.grad, -torch.expm1(tensor(-1.0)))  # the slope of softplus, sigmoid, where it is 1
    assert list(CosineScore(2, 2, learned=False).parameters()) == []


@pytest.mark.parametrize("beta", [1e-3, 1.0, 50.0, 1e4])
def test_cosine_starts_at_any_beta(beta):
    one = tensor([[2.0, 0.0]], dtype=torch.float64)
    assert_close(scores_of(CosineScore(2, 2, beta=beta).double(), one, one), one[:, :1] * beta / 2, rtol=1e-5, atol=0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_cosine_of_zeros_is_zero_without_a_gradient(dtype):
    score = CosineScore(3, 3).to(dtype)
    queries, keys = torch.zeros(2, 3, dtype=dtype), torch.zeros(2, 3, dtype=dtype)
    queries[1], keys[1] = 1.0, 2.0
    queries.requires_grad_(), keys.requires_grad_()
    scores = scores_of(score, queries, keys)
    assert_close(scores, tensor([[0.0, 0.0], [0.0, 1.0]], dtype=dtype), rtol=1e-2, atol=0)
    scores.sum().backward()
    for one in (queries, keys):
        assert bool((one.grad[0] == 0).all()) and bool(one.grad.isfinite().all())


def test_cosine_does_not_see_lengths(queries, keys):
    score = CosineScore(DIM, DIM).double()
    assert_close(scores_of(score, 100 * queries, keys / 100), scores_of(score, queries, keys))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("hidden_dim", [None, 4])
def test_relu_dot_is_a_product_behind_one_shared_layer(bias, hidden_dim, queries, keys, assert_agrees):
    score = ReluDotScore(DIM, DIM, hidden_dim=hidden_dim, bias=bias).double()
    weight, shift = score.shared.weight, score.shared.bias
    assert weight.shape == (hidden_dim or DIM, DIM) and (shift is not None) == bias
    ours, theirs = (functional.linear(some, weight, shift).clamp(min=0) for some in (queries, keys))
    scores = scores_of(score, queries, keys)
    assert_agrees("A29", scores, torch.einsum("bqh,bkh->bqk", ours, theirs))
    assert_close(scores_of(score, keys, keys), scores_of(score, keys, keys).mT)


def test_euclidean_is_minus_the_squared_distance(queries, keys, assert_agrees):
    assert_agrees(
        "H02", scores_of(EuclideanScore(DIM, DIM, scale=1.0), queries, keys), -(torch.cdist(queries, keys) ** 2)
    )
    wanted = -(torch.cdist(queries, keys) ** 2) / (2 * math.sqrt(DIM))
    assert_agrees("H02", scores_of(EuclideanScore(DIM, DIM), queries, keys), wanted)


def test_euclidean_among_keys_of_one_length_weighs_as_scaled_dot(queries, keys, assert_agrees):
    keys = functional.normalize(keys, dim=-1)
    weights = [scores_of(kind(DIM, DIM), queries, keys).softmax(-1) for kind in (EuclideanScore, ScaledDotScore)]
    assert_agrees("H02", *weights)


def test_euclidean_with_softmax_is_the_gaussian_kernel(assert_agrees):
    sigma, places, values = 0.3, torch.linspace(0, 1, 7, dtype=torch.float64), random(7, 1)
    attention = Attention(EuclideanScore(1, 1, scale=2 * sigma**2), EverywhereSpan(1, 1), SoftmaxWeighting(1))
    asked = tensor([[0.2], [0.9]], dtype=torch.float64)
    seen = attention(asked.unsqueeze(0), attention.remember(places.view(1, 7, 1), values.unsqueeze(0))).context[0]
    for row, place in enumerate(asked.flatten()):
        kernel = torch.exp(-((place - places) ** 2) / (2 * sigma**2))
        assert_agrees("H02", seen[row, 0], (kernel * values[:, 0]).sum() / kernel.sum())


def test_euclidean_loses_no_digits_far_from_zero():
    """As the naive |q|² - 2 q k + |k|² does."""
    center, queries, keys = 1e4 * random(1, DIM), random(3, DIM), random(5, DIM)
    near = scores_of(EuclideanScore(DIM, DIM), (center + queries).float(), (center + keys).float())
    wanted = scores_of(EuclideanScore(DIM, DIM), (center + queries).float().double(), (center + keys).float().double())
    assert_close(near.double(), wanted, rtol=1e-5, atol=1e-5)


def test_euclidean_gradients_are_those_of_the_distance(queries, keys):
    queries.requires_grad_(), keys.requires_grad_()
    apart = (queries.unsqueeze(2) - keys.unsqueeze(1)).square().sum(-1)
    both = [
        torch.autograd.grad(scores.sin().sum(), (queries, keys))
        for scores in (scores_of(EuclideanScore(DIM, DIM, scale=1.0), queries, keys), -apart)
    ]
    assert_close(*both)


def test_modulus_of_complex_vectors_by_real_and_imaginary_parts(assert_agrees):
    """|sum_f (a - ib)(c + id)|, a + ib of the query, c + id of the key."""
    queries, keys = random(3, DIM, dtype=torch.complex128), random(5, DIM, dtype=torch.complex128)
    real = queries.real @ keys.real.t() + queries.imag @ keys.imag.t()
    imaginary = queries.real @ keys.imag.t() - queries.imag @ keys.real.t()
    wanted = (real**2 + imaginary**2).sqrt()
    scores = scores_of(ModulusScore(DIM, DIM, scaled=False), queries, keys)
    assert scores.dtype == torch.float64
    assert_agrees("B21", scores, wanted)
    assert_agrees("B21", scores_of(ModulusScore(DIM, DIM), queries, keys), wanted / math.sqrt(DIM))


def test_modulus_of_real_vectors_is_the_size_of_their_dot_product(queries, keys, assert_agrees):
    scores = scores_of(ModulusScore(DIM, DIM, scaled=False), queries, keys)
    assert_agrees("B21", scores, scores_of(DotScore(DIM, DIM), queries, keys).abs())


def test_modulus_does_not_see_a_common_phase(assert_agrees):
    queries, keys = random(3, DIM, dtype=torch.complex128), random(5, DIM, dtype=torch.complex128)
    score, turned = ModulusScore(DIM, DIM), torch.polar(tensor(1.0).double(), tensor(0.7).double())
    assert_agrees("B21", scores_of(score, turned * queries, keys), scores_of(score, queries, keys))


def test_attention_over_complex_vectors_has_real_weights_and_a_complex_context():
    attention = Attention(ModulusScore(3, 3), EverywhereSpan(3, 3), SoftmaxWeighting(3))
    queries, keys = (random(2, n, 3, dtype=torch.complex128).requires_grad_() for n in (2, 4))
    mask = torch.arange(4) < tensor([[3], [0]])

    def context(some_queries: Tensor, some_keys: Tensor) -> Tensor:
        return attention(some_queries, attention.remember(some_keys, mask=mask)).context

    attended = attention(queries, attention.remember(keys, mask=mask), need_weights=True)
    weights = attended.weights
    assert weights.dtype == torch.float64 and attended.context.dtype == torch.complex128
    assert_close(weights.sum(-1), tensor([[1.0, 1.0], [0.0, 0.0]]).double())
    wanted = (queries[0].conj() @ keys[0, :3].t()).abs().div(math.sqrt(3)).softmax(-1).to(keys.dtype) @ keys[0, :3]
    assert_close(attended.context[0], wanted)
    assert bool((attended.context[1] == 0).all())
    assert torch.autograd.gradcheck(context, (queries, keys))


def test_modulus_of_nothing_has_a_finite_gradient():
    zeros = torch.zeros(2, 3, dtype=torch.complex128, requires_grad=True)
    scores_of(ModulusScore(3, 3), zeros, zeros).sum().backward()
    assert bool((zeros.grad == 0).all())


@pytest.mark.parametrize("kind", [DotScore, ScaledDotScore, CosineScore, ReluDotScore, EuclideanScore, ModulusScore])
def test_unequal_dims_are_refused_with_a_way_out(kind):
    with pytest.raises(ConfigError, match=r"query 3 and key 4.*bilinear"):
        kind(3, 4)


@pytest.mark.parametrize("kind", [DotScore, ScaledDotScore, BilinearScore, CosineScore, ReluDotScore, EuclideanScore])
def test_scores_are_the_plain_product_that_is_told_to_the_kernels(kind, queries, keys):
    score = kind(DIM, DIM).double()
    ours, theirs = score.inner(queries, score.prepare(keys), None)
    assert_close(ours @ theirs.mT, scores_of(score, queries, keys))
