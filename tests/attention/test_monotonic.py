"""Monotonic attention against its sum, a reader who scans, and the frequencies of one who draws."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Attention, View
from regard.attention.scores.dot import DotScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.monotonic import MonotonicWeighting

STEPS, KEY = 4, 7
LENGTHS = [7, 4, 0]


def attention_of(*, offset: float = 0.0, noise: float = 0.0, hard: bool = False) -> Attention:
    """Its queries are the scores, its context the weights: the keys are one-hot."""
    weighting = MonotonicWeighting(KEY, offset=offset, noise=noise, hard=hard)
    return Attention(DotScore(KEY, KEY), EverywhereSpan(KEY, KEY), weighting).double()


def weights_of(attention: Attention, scores: Tensor, lengths: list[int]) -> Tensor:
    eye = torch.eye(KEY, dtype=torch.float64).expand(len(lengths), KEY, KEY)
    mask = torch.arange(KEY) < torch.tensor(lengths).unsqueeze(-1)
    attended = attention(scores, attention.remember(eye, mask=mask), need_weights=True)
    assert_close(attended.context, attended.weights)
    return attended.weights


def summed(stops: Tensor, steps: int) -> Tensor:
    """The sum of the paper (equation 8) for one sentence, stops (step, key)."""
    last, rows = [1.0] + [0.0] * (stops.shape[1] - 1), []
    for step in range(steps):
        row = []
        for key in range(stops.shape[1]):
            ways = [last[k] * float((1 - stops[step, k:key]).prod()) for k in range(key + 1)]
            row.append(float(stops[step, key]) * sum(ways))
        rows.append(row)
        last = row
    return torch.tensor(rows, dtype=torch.float64).view(steps, -1)


def scan(scores: Tensor) -> list[int | None]:
    """Where one looks who goes on to the next key with p > 0.5 (algorithm 1); None from where there is none."""
    place, places = 0, []
    for row in scores.tolist():
        place = next((key for key in range(place, len(row)) if row[key] > 0), len(row))
        places.append(place if place < len(row) else None)
    return places


@pytest.mark.parametrize("offset", [0.0, -1.5])
def test_equals_the_sum_of_the_paper(offset, assert_agrees):
    scores = torch.randn(3, STEPS, KEY, dtype=torch.float64)
    weights = weights_of(attention_of(offset=offset), scores, LENGTHS).detach()
    for row, length in enumerate(LENGTHS):
        wanted = summed((scores[row, :, :length] + offset).sigmoid(), STEPS) if length else torch.zeros(STEPS, 0)
        assert_agrees("A17", weights[row, :, :length], wanted.double(), 1e-12)
        assert not bool(weights[row, :, length:].any())


def test_hard_is_the_scan_for_a_probability_above_a_half():
    scores = torch.randn(200, STEPS, KEY, dtype=torch.float64)
    lengths = [1 + row % KEY for row in range(200)]
    weights = weights_of(attention_of(hard=True).eval(), scores, lengths)
    for row, length in enumerate(lengths):
        for step, place in enumerate(scan(scores[row, :, :length])):
            wanted = [0.0] * KEY
            if place is not None:
                wanted[place] = 1.0
            assert weights[row, step].tolist() == wanted


def test_hard_is_soft_while_it_is_trained(assert_agrees):
    scores = torch.randn(3, STEPS, KEY, dtype=torch.float64)
    hard, soft = (weights_of(attention_of(hard=hard), scores, LENGTHS).detach() for hard in (True, False))
    assert_agrees("A17", hard, soft, 0.0)


def test_weights_are_how_often_a_reader_who_draws_looks_there():
    """Whether it stops at a key is drawn for every query; 4 standard deviations."""
    scores, readers = torch.randn(1, STEPS, KEY, dtype=torch.float64), 20_000
    certain = torch.where(torch.rand(readers, STEPS, KEY) < scores.sigmoid(), 1.0, -1.0).double()
    found = weights_of(attention_of(hard=True).eval(), certain, [KEY] * readers).mean(dim=0)
    expected = weights_of(attention_of(), scores, [KEY])[0]
    assert bool(((found - expected).abs() <= 4 * (expected * (1 - expected) / readers).sqrt() + 1e-9).all())


def test_it_never_looks_back_and_loses_no_more_than_falls_off_the_end():
    weights = weights_of(attention_of(), torch.randn(50, STEPS, KEY, dtype=torch.float64), [KEY] * 50)
    passed = weights.cumsum(dim=-1)  # who has come no further than a key
    assert bool((passed[:, 1:] <= passed[:, :-1] + 1e-12).all())
    assert bool((weights >= 0).all()) and bool((weights.sum(dim=-1) <= 1 + 1e-12).all())


@pytest.mark.parametrize("level", [-800.0, 800.0, 0.0])
def test_extreme_probabilities_have_finite_gradients(level):
    scores = (torch.randn(2, STEPS, KEY, dtype=torch.float64) + level).requires_grad_()
    weights = weights_of(attention_of(), scores, [KEY, 3])
    weights.square().sum().backward()
    assert bool(weights.isfinite().all()) and bool(scores.grad.isfinite().all())


def test_long_texts_keep_their_precision():
    """Where p is small the factors of 2000 keys have a product that no division could undo."""
    weighting = MonotonicWeighting(1, offset=0.0, noise=0.0)
    stops, start = torch.full((1, 2000), 0.6), torch.zeros(2000)
    start[0] = 1.0
    single = weighting(stops.logit(), View(), stops, start)[0]
    double = weighting.double()(stops.double().logit(), View(), stops.double(), start.double())[0]
    assert_close(single.double(), double, rtol=1e-4, atol=1e-7)


def test_noise_is_for_training_only():
    scores = torch.randn(1, STEPS, KEY, dtype=torch.float64)
    attention = attention_of(noise=2.0)
    first, second = (weights_of(attention, scores, [KEY]) for _ in range(2))
    assert not torch.equal(first, second)
    attention.eval()
    assert_close(weights_of(attention, scores, [KEY]), weights_of(attention_of(), scores, [KEY]))
