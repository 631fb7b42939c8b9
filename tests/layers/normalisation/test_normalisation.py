"""Normalisations against their definitions: what they may know of a batch, and what they must not."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from regard.config import read_settings
from regard.errors import ConfigError
from regard.layers.layer import Layer
from regard.layers.normalisation import NORMALISATIONS, Normalisation
from regard.layers.normalisation.cumulative import CumulativeNorm
from regard.layers.normalisation.sub_batch import SubBatchNorm, main_rows
from regard.registry import Choice

BATCH, LENGTH, DIM = 5, 4, 3
MASK = torch.arange(LENGTH) < torch.tensor([[4], [2], [3], [1], [4]])
MAIN, AUXILIARY = slice(0, 2), slice(2, 5)


@dataclass(frozen=True)
class Layered:
    """Settings that name a norm."""

    norm: Normalisation = Choice("layer")


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def shaken(layer: Layer) -> Layer:
    for parameter in layer.double().parameters():
        nn.init.normal_(parameter)
    return layer


def test_an_odd_row_is_auxiliary_unless_it_is_alone():
    assert [main_rows(batch) for batch in range(6)] == [0, 1, 1, 1, 2, 2]


def test_both_halves_are_normalised_by_the_words_of_the_auxiliary_one(assert_agrees):
    layer, inputs = shaken(SubBatchNorm(DIM)), random(BATCH, LENGTH, DIM)
    outputs, _ = layer(inputs, MASK)
    words = torch.stack([inputs[row, place] for row in range(2, 5) for place in range(LENGTH) if MASK[row, place]])
    mean = words.sum(dim=0) / len(words)
    variance = (words - mean).square().sum(dim=0) / len(words)
    assert_agrees("B15", outputs, (inputs - mean) / (variance + 1e-5).sqrt() * layer.gain + layer.bias)


def test_it_is_batch_normalisation_by_another_batch(assert_agrees):
    layer, inputs = shaken(SubBatchNorm(DIM)), random(4, LENGTH, DIM)
    auxiliary = inputs[2:].flatten(0, 1)
    oracle = functional.batch_norm(auxiliary, None, None, layer.gain, layer.bias, training=True)
    assert_agrees("B15", layer(inputs, None)[0][2:].flatten(0, 1), oracle)


def test_no_sentence_of_the_main_half_is_seen_by_another_or_by_itself_later(assert_agrees):
    layer, inputs = shaken(SubBatchNorm(DIM)), random(BATCH, LENGTH, DIM).requires_grad_()
    outputs, _ = layer(inputs, MASK)
    (gradient,) = torch.autograd.grad(outputs[0, 1].sum(), inputs)
    assert gradient[0, 1].abs().sum() > 0
    gradient[0, 1] = 0
    assert_agrees("B15", gradient, torch.zeros_like(gradient), tolerance=0.0)  # the auxiliary half gets none either


def test_the_auxiliary_half_learns_if_it_is_told_to():
    layer, inputs = shaken(SubBatchNorm(DIM, learns_statistics=True)), random(BATCH, LENGTH, DIM).requires_grad_()
    (gradient,) = torch.autograd.grad(layer(inputs, MASK)[0][0].sum(), inputs)
    assert bool((gradient[AUXILIARY][MASK[AUXILIARY]] != 0).all())
    assert bool((gradient[1] == 0).all())


def test_in_use_averages_of_training_stand_in(assert_agrees):
    layer, inputs = shaken(SubBatchNorm(DIM, momentum=0.25)), random(BATCH, LENGTH, DIM)
    layer(inputs, MASK)
    words = inputs[AUXILIARY][MASK[AUXILIARY]]
    assert_agrees("B15", layer.mean, 0.25 * words.mean(dim=0), tolerance=1e-12)
    assert_agrees("B15", layer.variance, 0.75 + 0.25 * words.var(dim=0, correction=0), tolerance=1e-12)
    layer.eval()
    before = layer.mean.clone()
    outputs, _ = layer(inputs[:1], MASK[:1])  # one sentence alone
    wanted = (inputs[:1] - layer.mean) / (layer.variance + 1e-5).sqrt() * layer.gain + layer.bias
    assert_agrees("B15", outputs, wanted, tolerance=1e-12)
    assert torch.equal(layer.mean, before)


def test_a_sentence_alone_is_normalised_by_the_averages_and_learns(assert_agrees):
    """It knows nothing of its own future, and there is no other sentence to take statistics of."""
    layer, inputs = shaken(SubBatchNorm(DIM)), random(1, LENGTH, DIM).requires_grad_()
    layer(random(BATCH, LENGTH, DIM), MASK)
    before = layer.mean.clone(), layer.variance.clone()
    outputs, _ = layer(inputs, None)
    wanted = (inputs - before[0]) / (before[1] + 1e-5).sqrt() * layer.gain + layer.bias
    assert_agrees("B15", outputs, wanted, tolerance=1e-12)
    assert torch.equal(layer.mean, before[0]) and torch.equal(layer.variance, before[1])
    (gradient,) = torch.autograd.grad(outputs[0, 1].sum(), inputs)
    assert bool((gradient[0, 1] != 0).all()) and bool((gradient[0, 2:] == 0).all())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("training", [True, False])
def test_half_precision_costs_no_more_than_its_own_rounding(dtype, training):
    """Numbers far from 0 that differ little, where a mean in half precision would be as wrong as they differ."""
    inputs = (10 + 0.1 * torch.randn(16, 32, DIM)).to(dtype)
    layer = SubBatchNorm(DIM, momentum=1.0)
    layer(inputs.float(), None)
    layer.train(training)
    wanted, _ = layer(inputs.float(), None)
    with torch.autocast("cpu", dtype):
        outputs, _ = layer(inputs, None)
    assert outputs.dtype == dtype
    assert_close(outputs, wanted.to(dtype), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [*((name, "eps", -1.0) for name in NORMALISATIONS), ("sub_batch", "momentum", 7.0)],
)
def test_numbers_that_make_no_sense_are_refused(name, setting, value):
    with pytest.raises(ConfigError, match=rf"norm\.{setting}: must be .*, not {value}"):
        read_settings(Layered, {"norm": {"name": name, setting: value}})


def test_an_auxiliary_half_without_words_leaves_the_averages():
    layer, inputs = shaken(SubBatchNorm(DIM)), random(2, LENGTH, DIM)
    outputs, _ = layer(inputs, torch.tensor([[True] * LENGTH, [False] * LENGTH]))
    assert_close(outputs, inputs / (1 + 1e-5) ** 0.5 * layer.gain + layer.bias)


def test_cumulative_statistics_equal_a_loop(assert_agrees):
    layer, inputs = shaken(CumulativeNorm(DIM)), random(2, LENGTH, DIM)
    outputs, _ = layer(inputs, None)
    for row in range(2):
        for place in range(LENGTH):
            words = inputs[row, : place + 1]
            variance, mean = torch.var_mean(words, dim=0, correction=0)
            oracle = (words[-1] - mean) / (variance + 1e-5).sqrt() * layer.gain + layer.bias
            assert_agrees("B15", outputs[row, place], oracle)


def test_no_cumulative_statistic_sees_a_later_word():
    layer, inputs = shaken(CumulativeNorm(DIM)), random(2, LENGTH, DIM).requires_grad_()
    (gradient,) = torch.autograd.grad(layer(inputs, None)[0][0, 1].sum(), inputs)
    assert bool((gradient[0, 2:] == 0).all()) and bool((gradient[1] == 0).all())
    assert bool((gradient[0, :2] != 0).any())


def test_the_first_word_is_its_own_mean():
    layer = shaken(CumulativeNorm(DIM))
    assert_close(layer(random(2, 1, DIM), None)[0], layer.bias.expand(2, 1, DIM))


def test_layer_normalisation_sees_one_position():
    layer, inputs = shaken(NORMALISATIONS.build(Choice("layer"), DIM)), random(2, LENGTH, DIM)
    oracle = functional.layer_norm(inputs[0, 2], (DIM,), layer.norm.weight, layer.norm.bias)
    assert_close(layer(inputs, MASK[:2])[0][0, 2], oracle)


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_gradients_are_those_of_finite_differences(name):
    settings = {"learns_statistics": True} if name == "sub_batch" else {}
    layer = shaken(NORMALISATIONS.build(Choice(name, {"eps": 0.1, **settings}), 2)).requires_grad_(False)
    assert torch.autograd.gradcheck(lambda one: layer(one, None)[0], random(2, 3, 2).requires_grad_())
