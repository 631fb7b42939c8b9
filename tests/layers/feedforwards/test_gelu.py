"""BERT's feed-forward network equals torch's."""

import torch
from torch import nn
from torch.testing import assert_close

from regard.layers.feedforwards.gelu import GeluFeedForward


def test_it_equals_two_layers_of_torch_with_gelu_between():
    layer, inputs = GeluFeedForward(4, 7).double(), torch.randn(2, 3, 4, dtype=torch.float64)
    oracle = nn.Sequential(nn.Linear(4, 7), nn.GELU(), nn.Linear(7, 4)).double()
    oracle[0].load_state_dict(layer.to_hidden.state_dict())
    oracle[2].load_state_dict(layer.to_out.state_dict())
    assert_close(layer(inputs)[0], oracle(inputs))
