"""BERT's pooler by hand."""

import torch
from torch.testing import assert_close

from regard.layers.pooling.first import FirstPooling


def test_only_the_first_state_counts_and_goes_through_a_layer():
    states = torch.tensor([[[1.0, 2.0], [50.0, 60.0]]])
    assert_close(FirstPooling(2, dense=False)(states), torch.tensor([[1.0, 2.0]]))
    pooling = FirstPooling(2)
    pooling.load_state_dict({"dense.weight": torch.tensor([[0.0, 1.0], [1.0, 0.0]]), "dense.bias": torch.ones(2)})
    assert_close(pooling(states), torch.tanh(torch.tensor([[3.0, 2.0]])))  # swapped, plus one
