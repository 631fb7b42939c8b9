"""Compiled losses of pairs of rows against torch's in float64."""

import pytest
import torch
from builds import BUILDS, build_for
from torch.testing import assert_close

from regard.ops import cross_entropy
from regard.ops.cross_entropy import PairedCrossEntropy, paired_cross_entropy
from regard.ops.plain import plain


def losses_and_gradient(scores, targets, smoothing, weight, upstream):
    scores = scores.clone().requires_grad_()
    totals, losses, divergences = paired_cross_entropy(scores, targets, smoothing, weight)
    totals.backward(upstream.to(totals.dtype))
    return totals.detach(), losses, divergences, scores.grad


@pytest.mark.parametrize("build", [None, *BUILDS])
@pytest.mark.parametrize("words", [5, 1003])
@pytest.mark.parametrize(("smoothing", "weight"), [(0.0, 0.0), (0.1, 2.5), (0.3, 0.5)])
@pytest.mark.parametrize("even", [True, False])
def test_pairs_have_the_losses_and_gradients_of_torch(build, words, smoothing, weight, even, monkeypatch):
    if build is not None:
        made = build_for(build, monkeypatch)(cross_entropy.CROSS_ENTROPY_SOURCE)
        monkeypatch.setattr(cross_entropy, "library", lambda source: made)
    draws = torch.Generator().manual_seed(words)
    scores, targets = torch.randn(14, words, generator=draws) * 6, torch.randint(words, (7,), generator=draws)
    scores[9] = scores[2]  # a pair that agrees
    upstream = torch.ones(7) if even else torch.rand(7, generator=draws)
    found = losses_and_gradient(scores, targets, smoothing, weight, upstream)
    with plain():
        exact = losses_and_gradient(scores.double(), targets, smoothing, weight, upstream)
    assert exact[2][2] == 0
    for mine, wanted in zip(found, exact, strict=True):
        assert_close(mine.double(), wanted, atol=2e-5, rtol=2e-5)


def test_scores_far_apart_do_not_overflow():
    scores = torch.tensor([[200.0, -200.0, 0.0], [-200.0, 200.0, 0.0]])
    totals, losses, divergences, gradient = losses_and_gradient(scores, torch.tensor([0]), 0.0, 1.0, torch.ones(1))
    assert (losses.item(), divergences.item(), totals.item()) == (200.0, 400.0, 600.0)
    assert gradient.isfinite().all()


def test_a_target_outside_of_the_words_is_refused():
    with pytest.raises(IndexError, match="not one of the 3 words"):
        paired_cross_entropy(torch.zeros(2, 3), torch.tensor([3]), 0.0, 1.0)


def test_float32_on_a_processor_is_compiled():
    totals, *_ = paired_cross_entropy(torch.zeros(2, 3, requires_grad=True), torch.tensor([1]), 0.0, 1.0)
    assert isinstance(totals.grad_fn, PairedCrossEntropy._backward_cls)
