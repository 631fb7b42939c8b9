"""Convolutions of several widths with the best match of each, against torch's convolution and a loop over windows."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from regard.layers.pooling import POOLINGS
from regard.layers.pooling.convolutional import LONG, ConvolutionalPooling
from regard.ops.functional import limit_norm
from regard.registry import Choice

LENGTH, DIM, MAPS = 8, 3, 4
LENGTHS = [8, 6, 5, 4, 2, 1]  # the last three are shorter than the widest window
MASK = torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1)


def pooling(**settings: object) -> ConvolutionalPooling:
    made = POOLINGS.build(Choice("convolutional", {"num_filters": MAPS, **settings}), DIM).double()
    for filters in made.filters:
        torch.nn.init.normal_(filters.bias)
    return made.eval()


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def by_a_loop(model: ConvolutionalPooling, text: Tensor) -> Tensor:
    """text (n, dim), n > 0: each map asks each window that has a word in it."""
    n, nothing, best = len(text), torch.zeros(DIM, dtype=torch.float64), []
    words = [*text, *[nothing] * (model.widest - n)]
    for filters in model.filters:
        width = filters.weight.shape[-1]
        starts = [start for start in range(len(words) - width + 1) if start < n]
        for weight, bias in zip(filters.weight, filters.bias, strict=True):
            found = [sum(weight[:, j] @ words[start + j] for j in range(width)) + bias for start in starts]
            best.append(max(0.0, *(one.item() for one in found)))
    return torch.tensor(best, dtype=torch.float64)


@pytest.mark.parametrize("windows", [(3, 4, 5), (2,), (1, 5)])
def test_equals_a_loop_over_windows_and_torchs_convolution(windows, assert_agrees):
    model, states = pooling(kernel_sizes=windows), random(len(LENGTHS), LENGTH, DIM)
    pooled = model(states, MASK)
    assert pooled.shape == (len(LENGTHS), MAPS * len(windows)) == (len(LENGTHS), model.out_dim)
    for row, length in enumerate(LENGTHS):
        text = states[row, :length]
        assert_agrees("B11", pooled[row], by_a_loop(model, text), tolerance=1e-12)
        if length >= model.widest:  # nothing is padded: torch's own, map by map
            maps = [functional.conv1d(text.t(), one.weight, one.bias).relu().amax(dim=1) for one in model.filters]
            assert_agrees("B11", pooled[row], torch.cat(maps), tolerance=1e-12)


def test_windows_of_padding_alone_are_no_match():
    """A bias above zero would speak for nothing at all: only where a word stands it does."""
    model = pooling(kernel_sizes=(2, 5))
    for filters in model.filters:
        filters.weight.data.fill_(-1.0)
        filters.bias.data.fill_(3.0)
    states = torch.ones(2, LENGTH, DIM, dtype=torch.float64)
    mask = torch.arange(LENGTH) < torch.tensor([[2], [0]])
    pooled = model(states, mask)
    assert pooled[0, :MAPS].tolist() == [0.0] * MAPS  # [x x]: 3 - 6; [x 0]: 3 - 3; [0 0] would be 3
    assert bool((pooled[1] == 0).all())


def test_defaults_are_those_of_the_paper():
    model = ConvolutionalPooling(DIM)
    assert [filters.weight.shape for filters in model.filters] == [(100, DIM, width) for width in (3, 4, 5)]
    assert (model.out_dim, model.dropout.probability) == (300, 0.5)


def test_weights_begin_with_the_variance_that_a_rectifier_halves():
    for filters in ConvolutionalPooling(64, kernel_sizes=(5,), num_filters=200).filters:
        assert float(filters.weight.detach().var()) == pytest.approx(2 / (5 * 64), rel=0.05)
        assert bool((filters.bias == 0).all())


def longest(weight: Tensor) -> float:
    return float(weight.detach().flatten(1).norm(dim=1).max())


def loss(model: ConvolutionalPooling, states: Tensor) -> Tensor:
    return -model(states, MASK).sum()  # ever longer filters make it less


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_no_filter_is_longer_than_the_most_after_any_step(optimizer, assert_agrees):
    """As if each step had cut it back there and then: a loop that does so learns the same."""
    model, states = pooling(max_norm=1.5, dropout=0.0).train(), random(len(LENGTHS), LENGTH, DIM)
    other = pooling(dropout=0.0)
    other.load_state_dict({name: one.clone() for name, one in model.state_dict().items()})
    steps, most = [optimizer(one.parameters(), lr=0.2) for one in (model, other)], 0.0
    for _ in range(12):
        for filters in other.filters:
            filters.weight.data = torch.stack([w * min(1.0, 1.5 / float(w.norm())) for w in filters.weight.data])
        for one, step in zip((model, other), steps, strict=True):
            step.zero_grad()
            loss(one, states).backward()
            step.step()
        most = max(most, *(longest(filters.weight) for filters in model.filters))
        assert all(longest(limit_norm(one.weight, 1.5, training=False)) <= 1.5 + 1e-12 for one in model.filters)
    assert most > 1.6  # there was something to hold
    for mine, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert_agrees("B11", mine, theirs, tolerance=1e-12)


def test_use_cuts_for_itself_and_changes_nothing():
    model, states = pooling(max_norm=0.5), random(len(LENGTHS), LENGTH, DIM)
    before = {name: one.clone() for name, one in model.state_dict().items()}
    seen = model(states, MASK)
    assert all(torch.equal(one, before[name]) for name, one in model.state_dict().items())
    free = pooling()
    free.load_state_dict(before)
    assert not torch.allclose(free(states, MASK), seen)
    model.train().dropout.probability = 0.0
    assert_close(model(states, MASK), seen)  # the same is used while it is trained
    assert all(longest(filters.weight) <= 0.5 + 1e-12 for filters in model.filters)
    assert_close(model.eval()(states, MASK), seen)


def test_two_texts_of_one_update_may_be_pooled_before_the_gradient():
    model, states = pooling(max_norm=0.5).train(), random(len(LENGTHS), LENGTH, DIM)
    (loss(model, states) + loss(model, 2 * states)).backward()
    assert all(bool(one.grad.isfinite().all()) for one in model.parameters())


@pytest.mark.parametrize("length", [LONG - 2, LONG + 30])
def test_long_texts_have_the_gradients_of_torchs_convolution(length, assert_agrees):
    """Also where the best window is found first: with padding, a text shorter than a window and one of no words."""
    model, states = pooling(kernel_sizes=(3, 5)).train(), random(4, length, DIM).requires_grad_()
    mask = torch.arange(length) < torch.tensor([[length], [length // 2], [2], [0]])
    model.dropout.probability = 0.0
    model(states, mask).square().sum().backward()
    wanted = [states.grad.clone(), *(one.grad.clone() for one in model.parameters())]
    states.grad = None
    model.zero_grad()
    total = torch.zeros((), dtype=torch.float64)
    for row, words in ((0, length), (1, length // 2), (2, 2)):
        for filters in model.filters:
            text = functional.pad(states[row, :words].t(), (0, max(0, 5 - words)))
            found = functional.conv1d(text, filters.weight, filters.bias)[:, : words if words < 5 else None]
            total = total + found.relu().amax(dim=1).square().sum()
    total.backward()
    for found, one in zip(wanted, [states, *model.parameters()], strict=True):
        assert_agrees("B11", found, one.grad, tolerance=1e-11)
