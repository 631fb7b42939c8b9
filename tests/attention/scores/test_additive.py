"""Scores of a hidden layer over query and key, against loops and torch's own layers."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm
from torch.testing import assert_close

from regard.attention import Attention
from regard.attention.kernels import chunked
from regard.attention.scores.additive import AdditiveScore
from regard.attention.scores.concat import ConcatScore
from regard.attention.scores.mlp import MlpScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.ops.plain import plain

QUERY_DIM, KEY_DIM, HIDDEN = 3, 5, 7


@pytest.fixture
def queries() -> Tensor:
    return torch.randn(2, 3, QUERY_DIM, dtype=torch.float64)


@pytest.fixture
def keys() -> Tensor:
    return torch.randn(2, 4, KEY_DIM, dtype=torch.float64)


def scores_of(score, queries: Tensor, keys: Tensor) -> Tensor:
    return score(queries, score.prepare(keys), None)


def pairs(queries: Tensor, keys: Tensor) -> Tensor:
    """[query; key] of each pair (..., query, key, query_dim + key_dim)."""
    shape = (*queries.shape[:-1], keys.shape[-2])
    ours, theirs = queries.unsqueeze(-2).expand(*shape, -1), keys.unsqueeze(-3).expand(*shape, -1)
    return torch.cat([ours, theirs], dim=-1)


@pytest.mark.parametrize("bias", [False, True])
def test_additive_equals_a_loop(bias, queries, keys, assert_agrees):
    score = AdditiveScore(QUERY_DIM, KEY_DIM, hidden_dim=HIDDEN, bias=bias).double()
    shift = torch.zeros(HIDDEN).double()
    if bias:
        assert bool((score.from_query.bias == 0).all())
        nn.init.normal_(score.from_query.bias)
        shift = score.from_query.bias
    scores = scores_of(score, queries, keys)
    for row in range(2):
        for i, query in enumerate(queries[row]):
            for j, key in enumerate(keys[row]):
                hidden = torch.tanh(score.from_query.weight @ query + score.from_key.weight @ key + shift)
                assert_agrees("A05", scores[row, i, j], score.to_score.weight[0] @ hidden)


def test_a_constant_behind_the_vector_would_change_no_weight(queries, keys):
    """So v has no bias."""
    score = AdditiveScore(QUERY_DIM, KEY_DIM, hidden_dim=HIDDEN).double()
    scores = scores_of(score, queries, keys)
    assert_close((scores + 3.0).softmax(-1), scores.softmax(-1))
    assert score.to_score.bias is None


def test_normed_bahdanau_equals_torch_weight_norm(queries, keys, assert_agrees):
    score = AdditiveScore(QUERY_DIM, KEY_DIM, hidden_dim=HIDDEN, bias=True, normed=True).double()
    reference = weight_norm(nn.Linear(HIDDEN, 1, bias=False).double(), dim=0)
    assert_close(score.length.item(), HIDDEN**-0.5)
    for length in (HIDDEN**-0.5, 2.5):
        score.length.data.fill_(length)
        reference.parametrizations.weight.original0.data.fill_(length)
        reference.parametrizations.weight.original1.data = score.to_score.weight.data.clone()
        hidden = torch.tanh(score.from_query(queries).unsqueeze(2) + score.from_key(keys).unsqueeze(1))
        scores, wanted = scores_of(score, queries, keys), reference(hidden).squeeze(-1)
        assert_agrees("A09", scores, wanted)
        ours = torch.autograd.grad(scores.sin().sum(), (score.length, score.to_score.weight))
        theirs = torch.autograd.grad(wanted.sin().sum(), list(reference.parameters()))
        assert_close([one.flatten() for one in ours], [one.flatten() for one in theirs])


def test_concat_is_the_additive_score_with_its_matrix_split(queries, keys, assert_agrees):
    """v · tanh(W [query; key]), W = [W_a U_a]."""
    score = ConcatScore(QUERY_DIM, KEY_DIM, hidden_dim=HIDDEN).double()
    joined = torch.cat([score.from_query.weight, score.from_key.weight], dim=1)
    scores = scores_of(score, queries, keys)
    assert_agrees("A06", scores, torch.tanh(pairs(queries, keys) @ joined.t()) @ score.to_score.weight[0])
    additive = AdditiveScore(QUERY_DIM, KEY_DIM, hidden_dim=HIDDEN).double()
    additive.load_state_dict(score.state_dict())
    assert_agrees("A06", scores, scores_of(additive, queries, keys))


def test_an_inner_product_with_query_and_key_gives_weights_that_know_no_query(queries, keys, assert_agrees):
    score = ConcatScore(QUERY_DIM, KEY_DIM, activation="none").double()
    vector = torch.cat([score.from_query.weight, score.from_key.weight], dim=1)[0]
    assert_agrees("A06", scores_of(score, queries, keys), pairs(queries, keys) @ vector)
    ours, theirs = score.inner(queries, score.prepare(keys), None)
    assert_agrees("A06", ours @ theirs.mT, pairs(queries, keys) @ vector)
    attention = Attention(score, EverywhereSpan(3, 5), SoftmaxWeighting(3))
    weights = attention(queries, attention.remember(keys), need_weights=True).weights
    assert_close(weights, (keys @ score.from_key.weight[0]).softmax(-1).unsqueeze(1).expand_as(weights))
    assert sum(parameter.numel() for parameter in score.parameters()) == QUERY_DIM + KEY_DIM


def test_mlp_of_one_layer_of_tanh_without_bias_is_concat(queries, keys, assert_agrees):
    score = MlpScore(QUERY_DIM, KEY_DIM, hidden_dim=HIDDEN, bias=False).double()
    concat = ConcatScore(QUERY_DIM, KEY_DIM, hidden_dim=HIDDEN).double()
    concat.load_state_dict(score.state_dict())
    assert_agrees("A07", scores_of(score, queries, keys), scores_of(concat, queries, keys))


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("sliced", [False, True])
def test_mlp_equals_torch_layers_on_query_and_key(
    activation, num_layers, sliced, queries, keys, assert_agrees, monkeypatch
):
    if sliced:
        monkeypatch.setattr(chunked, "SLICE", 1)
    score = MlpScore(QUERY_DIM, KEY_DIM, hidden_dim=HIDDEN, num_layers=num_layers, activation=activation).double()
    function = nn.Tanh() if activation == "tanh" else nn.ReLU()
    first = nn.Linear(QUERY_DIM + KEY_DIM, HIDDEN).double()
    first.weight.data = torch.cat([score.from_query.weight, score.from_key.weight], dim=1)
    first.bias.data = score.from_query.bias.data
    reference = nn.Sequential(first, function, *(one for layer in score.layers for one in (layer, function)))
    queries.requires_grad_(), keys.requires_grad_()
    inputs = (queries, keys, *score.layers.parameters(), score.to_score.weight)
    scores, wanted = scores_of(score, queries, keys), score.to_score(reference(pairs(queries, keys))).squeeze(-1)
    assert_agrees("A07", scores, wanted)
    assert_close(*(torch.autograd.grad(one.sin().sum(), inputs) for one in (scores, wanted)))
    with torch.no_grad():
        assert_agrees("A07", scores_of(score, queries, keys), wanted.detach())
    with plain():
        assert_agrees("A07", scores_of(score, queries, keys), wanted)
