"""The feed-forward network with swish by hand."""

import math

import pytest
import torch
from torch.testing import assert_close

from regard.layers.feedforwards.swish import SwishFeedForward


@pytest.mark.parametrize("beta", [1.0, 1.702])
def test_swish_by_hand(beta):
    layer, inputs = SwishFeedForward(3, 4, beta=beta).double(), torch.randn(1, 2, 3, dtype=torch.float64)
    for row, x in enumerate(inputs[0].tolist()):
        hidden = [
            sum(w * one for w, one in zip(weights, x, strict=True)) + bias
            for weights, bias in zip(layer.to_hidden.weight.tolist(), layer.to_hidden.bias.tolist(), strict=True)
        ]
        active = [one / (1 + math.exp(-beta * one)) for one in hidden]
        wanted = layer.to_out.weight @ torch.tensor(active, dtype=torch.float64) + layer.to_out.bias
        assert_close(layer(inputs)[0][0, row], wanted)
