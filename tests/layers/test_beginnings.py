"""The numbers that weights begin with are drawn as the classes say, for a variance is what deep stacks live on."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard.attention import Sockets
from regard.decoders.convolutional import ConvolutionalDecoder
from regard.encoders.convolutional import ConvolutionalEncoder
from regard.layers.convolutional.convolution import WeightNormalised
from regard.layers.convolutional.gated_block import GatedBlock
from regard.layers.embedders import EMBEDDERS
from regard.layers.embedders.words import WordEmbedder
from regard.layers.feedforwards import FEEDFORWARDS
from regard.layers.feedforwards.position_wise import PositionWise
from regard.layers.histories.average import AverageAttention
from regard.layers.positions.learned import LearnedPosition
from regard.layers.recurrent.sru import SruLayer
from regard.layers.recurrent.ssru import SsruLayer
from regard.registry import Choice

IN, OUT = 96, 160
XAVIER = 2 / (IN + OUT)
NONE = Sockets(None, None, None)


def convolutional(kind: str) -> Tensor:
    """The map into another width, behind an embedder that drops a tenth and before blocks that drop a quarter."""
    settings = {"hidden_dim": OUT, "num_layers": 1, "dropout": 0.25}
    if kind == "encoder":
        return ConvolutionalEncoder(IN, NONE, **settings).enter.weight
    return ConvolutionalDecoder(WordEmbedder(9, IN, dropout=0.1), None, NONE, **settings).enter.weight


VARIANCES: dict[str, tuple[Callable[[], Tensor], float]] = {
    "sru": (lambda: SruLayer(IN, OUT).weight, 1 / IN),
    "sru's peepholes": (lambda: SruLayer(IN, 2000).peepholes, 1 / 2000),
    "ssru, a gate": (lambda: SsruLayer(IN, OUT).weight[:OUT], XAVIER),
    "position-wise, in": (lambda: PositionWise(IN, OUT).to_hidden.weight, XAVIER),
    "position-wise, out": (lambda: PositionWise(IN, OUT).to_out.weight, XAVIER),
    **{
        f"{name}, out": (lambda name=name: FEEDFORWARDS.build(Choice(name), IN, OUT).to_out.weight, XAVIER)
        for name in FEEDFORWARDS
    },
    "average, gate": (lambda: AverageAttention(IN, OUT).gate.weight, 2 / (2 * IN + 2 * IN)),
    "gated block": (lambda: GatedBlock(IN, OUT, kernel=3, dropout=0.25).convolution.linear.weight, 4 * 0.75 / (3 * IN)),
    "block of a rectifier": (
        lambda: GatedBlock(IN, OUT, kernel=3, gate="relu", dropout=0.25).convolution.linear.weight, 0.75 / (3 * IN)
    ),
    "convolutional encoder, in": (lambda: convolutional("encoder"), 0.75 / IN),
    "convolutional decoder, in": (lambda: convolutional("decoder"), 0.9 / IN),  # what its embedder has left
    "weight-normalised": (lambda: WeightNormalised(IN, OUT, std=0.3).weight, 0.09),
    "words": (lambda: EMBEDDERS.build(Choice("words"), OUT, IN, None).table, 1 / IN),
    "n-grams": (lambda: EMBEDDERS.build(Choice("character_ngrams"), OUT, IN, None).more, 1 / IN),
    "amplitudes": (lambda: EMBEDDERS.build(Choice("complex_order"), OUT, IN, None).table, 2 / IN),
    "learned places": (lambda: LearnedPosition(IN).table, 1 / IN),
    "learned places, as told": (lambda: LearnedPosition(IN, std=0.1).table, 0.01),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANCES)
def test_weights_begin_with_mean_0_and_their_variance(name):
    make, variance = VARIANCES[name]
    weight = make().detach().double().flatten()
    assert abs(float(weight.mean())) < 5 * (variance / len(weight)) ** 0.5
    assert float(weight.var()) == pytest.approx(variance, rel=8 * len(weight) ** -0.5)  # five deviations and more


def test_biases_begin_as_zero():
    position_wise, average = PositionWise(IN, OUT), AverageAttention(IN, OUT)
    biases = [position_wise.to_hidden.bias, position_wise.to_out.bias, average.gate.bias, SsruLayer(IN, OUT).bias]
    assert all(torch.count_nonzero(bias) == 0 for bias in biases)
    assert SruLayer(IN, 3, highway_bias=-3.0).biases.tolist() == [[0.0] * 3, [-3.0] * 3]


def test_a_weight_normalised_map_begins_as_the_weight_it_was_drawn_as(assert_agrees):
    linear = WeightNormalised(IN, OUT, std=0.3)
    assert_agrees("F04", linear.gain, linear.weight.norm(dim=1), tolerance=0.0)
