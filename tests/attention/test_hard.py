"""Attention that draws: hard by REINFORCE, and by Gumbel noise."""

import pytest
import torch
from torch import Tensor, tensor
from torch.testing import assert_close

from regard.attention import WEIGHTINGS, Attended, Attention
from regard.attention.parts import Weighting
from regard.attention.scores.dot import DotScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

DRAWS, KEY, DIM = 20_000, 4, 4
CRITICAL = 13.8  # of chi-square with two degrees of freedom, at 0.1 %
LENGTHS = [4, 3, 0]


def weighting_of(name: str, **settings: object) -> Weighting:
    return WEIGHTINGS.build(Choice(name, settings), DIM)


def look(weighting: Weighting, scores: Tensor, lengths: list[int] | None = None) -> Attended:
    """Attention whose scores (batch, query, key) are given, and whose values are one-hot."""
    batch, _, keys = scores.shape
    attention = Attention(DotScore(keys, keys), EverywhereSpan(keys, keys), weighting).train(weighting.training)
    eye = torch.eye(keys, dtype=scores.dtype).expand(batch, keys, keys)
    mask = None if lengths is None else torch.arange(keys) < tensor(lengths).unsqueeze(-1)
    return attention(scores, attention.remember(eye, mask=mask), need_weights=True)


def frequencies(weights: Tensor) -> Tensor:
    return torch.zeros_like(weights).scatter(-1, weights.argmax(dim=-1, keepdim=True), 1.0).mean(dim=(0, 1))


def misses(found: Tensor, expected: Tensor) -> float:
    """Chi-square of frequencies of keys."""
    return float((DRAWS * (found - expected).square() / expected).sum())


@pytest.mark.parametrize("name, settings", [("hard", {"soft_probability": 0.0}), ("gumbel", {"temperature": 0.7})])
def test_keys_are_drawn_with_their_probabilities_and_hidden_ones_never(name, settings):
    scores = torch.randn(1, 1, KEY)
    weights = look(weighting_of(name, **settings), scores.expand(1, DRAWS, KEY), [3]).weights
    found, expected = frequencies(weights)[:3], scores[0, 0, :3].softmax(dim=-1)
    assert misses(found, expected) < CRITICAL
    assert not bool(weights[..., 3].any())


def test_a_draw_is_one_key_with_its_log_probability_and_the_entropy(assert_agrees):
    scores = torch.randn(3, 5, KEY, dtype=torch.float64)
    attended = look(weighting_of("hard", soft_probability=0.0), scores, LENGTHS)
    drawn, terms = attended.weights, attended.terms
    assert bool(((drawn == 0) | (drawn == 1)).all()) and drawn.sum(dim=-1).tolist() == [[1.0] * 5] * 2 + [[0.0] * 5]
    assert_agrees("A11", attended.context, drawn, 0.0)
    for row, length in enumerate(LENGTHS[:2]):
        law = torch.distributions.Categorical(logits=scores[row, :, :length])
        assert_agrees("A11", terms["log_prob"][row], law.log_prob(drawn[row].argmax(dim=-1)), 1e-12)
        assert_agrees("A11", terms["entropy"][row], law.entropy(), 1e-12)


def test_a_row_that_sees_nothing_draws_nothing():
    attended = look(weighting_of("hard", soft_probability=0.0), torch.randn(3, 5, KEY), LENGTHS)
    for found in (attended.context, attended.weights, *attended.terms.values()):
        assert not bool(found[2].any())


def test_gradients_of_the_terms_are_finite_where_a_key_has_no_chance():
    scores = tensor([[[0.0, -1e4, 3.0, 1.0]]], requires_grad=True)
    terms = look(weighting_of("hard", soft_probability=0.0), scores).terms
    (terms["log_prob"] + terms["entropy"]).sum().backward()
    assert bool(scores.grad.isfinite().all())


def test_a_share_of_the_sentences_is_soft_from_the_first_query_to_the_last():
    scores = torch.randn(1, 1, KEY).expand(4000, 6, KEY)
    attended = look(weighting_of("hard", soft_probability=0.25), scores)
    soft = attended.weights.amax(dim=-1) < 1
    assert bool((soft.all(dim=1) == soft.any(dim=1)).all())
    assert float(soft.float().mean()) == pytest.approx(0.25, abs=0.03)
    assert not bool(attended.terms["log_prob"][soft].any())
    assert_close(attended.weights[soft], scores.softmax(dim=-1)[soft])


def test_words_one_by_one_stay_soft_or_hard():
    """The coin of a sentence is its past; with heads each head has its own."""
    settings = AttentionSettings(score=Choice("dot"), weighting=Choice("hard"), num_heads=2)
    attention = build_attention(settings, DIM, DIM)
    queries, memory = torch.randn(50, 6, DIM), attention.remember(torch.randn(50, KEY, DIM))
    past, weights = None, []
    for query in queries.split(1, dim=1):
        attended = attention(query, memory, past, need_weights=True)
        past = attended.past
        weights.append(attended.weights)
    soft = torch.cat(weights, dim=-2).amax(dim=-1) < 1
    assert bool((soft.all(dim=-1) == soft.any(dim=-1)).all())
    assert 0 < int(soft[..., 0].sum()) < soft[..., 0].numel()


def test_a_kernel_for_few_keys_has_the_same_soft_sentences():
    span = Choice("window", {"radius": 2})
    settings = AttentionSettings(score=Choice("dot"), span=(span,), weighting=Choice("hard"), num_heads=2)
    attention = build_attention(settings, DIM, DIM)
    states = torch.randn(20, 300, DIM)
    attended = attention(states, attention.remember(states), need_weights=True)
    soft = attended.weights.amax(dim=-1) < 1
    assert bool((soft.all(dim=-1) == soft.any(dim=-1)).all())
    assert bool((attended.terms["log_prob"] == 0)[soft].all())
    assert attended.terms["entropy"].shape == soft.shape


@pytest.mark.parametrize("name", ["hard", "gumbel"])
def test_in_use_the_most_probable_key_is_taken(name):
    scores = torch.randn(3, 5, KEY)
    attended = look(weighting_of(name).eval(), scores, LENGTHS)
    for row, length in enumerate(LENGTHS[:2]):
        assert attended.weights[row].argmax(dim=-1).tolist() == scores[row, :, :length].argmax(dim=-1).tolist()
    assert attended.weights.sum(dim=-1).tolist() == [[1.0] * 5] * 2 + [[0.0] * 5]


def test_hard_may_draw_in_use_too():
    scores = torch.randn(1, 1, KEY)
    weights = look(weighting_of("hard", inference="sample").eval(), scores.expand(1, DRAWS, KEY), [3]).weights
    assert misses(frequencies(weights)[:3], scores[0, 0, :3].softmax(dim=-1)) < CRITICAL


def test_a_cold_gumbel_is_one_hot_and_a_hot_one_uniform():
    scores = torch.randn(2, 500, KEY)
    cold = look(weighting_of("gumbel", temperature=1e-3), scores).weights
    assert float((cold.amax(dim=-1) > 1 - 1e-6).float().mean()) > 0.99
    hot = look(weighting_of("gumbel", temperature=1e4), scores).weights
    assert_close(hot, torch.full_like(hot, 1 / KEY), rtol=0, atol=1e-3)


def test_gumbel_by_its_formula(assert_agrees):
    scores, weighting = torch.randn(2, 3, KEY, dtype=torch.float64), weighting_of("gumbel", temperature=0.3)
    torch.manual_seed(5)
    found = look(weighting, scores).weights
    torch.manual_seed(5)
    noise = -torch.empty_like(scores).exponential_().log()
    assert_agrees("A12", found, ((scores.log_softmax(dim=-1) + noise) / 0.3).softmax(dim=-1), 1e-12)


def test_straight_through_is_one_hot_with_the_gradient_of_the_soft_weights(assert_agrees):
    scores, values = torch.randn(2, 3, KEY, dtype=torch.float64, requires_grad=True), torch.randn(KEY).double()

    def gradient(straight: bool) -> tuple[Tensor, Tensor]:
        torch.manual_seed(5)
        weights = look(weighting_of("gumbel", temperature=0.5, straight_through=straight), scores).weights
        return weights, torch.autograd.grad((weights * values).sum(), scores)[0]

    (hard, of_hard), (soft, of_soft) = gradient(True), gradient(False)
    assert sorted(hard.unique().tolist()) == [0.0, 1.0]
    assert hard.argmax(dim=-1).tolist() == soft.argmax(dim=-1).tolist()
    assert_agrees("A12", of_hard, of_soft, 1e-12)


def test_a_schedule_may_end_at_no_temperature():
    weighting = weighting_of("gumbel")
    weighting.temperature = 0.0
    scores = torch.randn(2, 3, KEY, requires_grad=True)
    look(weighting, scores).weights.square().sum().backward()
    assert bool(scores.grad.isfinite().all())
