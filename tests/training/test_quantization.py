"""Quantization-aware training: a forward pass with the weights that 8-bit products have, and updates of the others."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import build_translator
from torch import nn
from torch.testing import assert_close
from writers import batch_of, sources_of

from regard.objectives import Context, LikelihoodObjective
from regard.ops.kernels.packing import PackedProduct
from regard.ops.quantization import rounded, rounded_weights
from regard.records import Batch, Sequences
from regard.registry import Choice
from regard.training.settings import TrainingSettings
from regard.training.updater import Updater

VOCAB = 30


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 9))
def test_rounded_weights_are_those_of_packed_products(outputs, inputs, seed):
    weight = torch.randn(outputs, inputs, generator=torch.Generator().manual_seed(seed))
    packed = PackedProduct(weight, None, 8, "int8")
    steps = packed.panels.transpose(1, 2).flatten(0, 1).flatten(1)[:outputs, :inputs]
    wanted = (steps.to(torch.float32) - 128) * packed.scales[:outputs, None]
    assert_close(rounded(weight), wanted, rtol=0, atol=1e-7)


def test_a_row_of_zeros_stays():
    assert torch.equal(rounded(torch.zeros(2, 3)), torch.zeros(2, 3))


def test_weights_come_back_after_a_fault():
    layer = nn.Linear(5, 4)
    before = {name: one.clone() for name, one in layer.state_dict().items()}
    with pytest.raises(ZeroDivisionError), rounded_weights(layer.parameters()):
        assert not torch.equal(layer.weight, before["weight"])
        assert torch.equal(layer.bias, before["bias"])
        raise ZeroDivisionError
    assert all(torch.equal(one, before[name]) for name, one in layer.state_dict().items())


@pytest.fixture
def batch():
    read, written = (batch_of(sources_of(7, VOCAB, 9, seed=seed)).sequences("source") for seed in (1, 2))
    columns: dict[str, Sequences] = {"source": read, "target": written}
    return Batch(columns, "translate", torch.arange(7), int(written.mask.sum()))


def test_a_gradient_is_that_of_the_rounded_network(batch):
    sizes = Choice("transformer", {"num_layers": 1, "feedforward_dim": 32})
    model = build_translator({"dim": 16, "dropout": 0.0, "encoder": sizes, "decoder": sizes}, VOCAB, VOCAB)
    other = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in other.parameters():
            if parameter.dim() > 1:
                parameter.copy_(rounded(parameter))
    start = {name: one.clone() for name, one in model.state_dict().items()}
    rate, steps = 0.1, {}
    for one, quantization in ((model, "int8"), (other, "none")):
        before = {name: parameter.clone() for name, parameter in one.named_parameters()}
        settings = TrainingSettings(
            schedule=Choice("constant"), optimizer=Choice("sgd"), learning_rate=rate, clip_norm=0, precision="float32",
            quantization=quantization,
        )  # fmt: skip
        Updater(one, LikelihoodObjective(Context(one)), settings).update([batch], 1)
        steps[quantization] = {name: parameter - before[name] for name, parameter in one.named_parameters()}
    for name, step in steps["none"].items():
        assert_close(steps["int8"][name], step, rtol=1e-4, atol=1e-7)
    assert any(not torch.equal(rounded(one), one) for name, one in start.items() if one.dim() > 1)
