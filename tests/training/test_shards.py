"""Weights in shards, gathered for a validation."""

import pytest
from torch import distributed, nn

from regard.ops.kernels.packing import ParameterCache
from regard.training.shards import Together
from regard.training.world import World


@pytest.fixture
def world():
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield World()
    distributed.destroy_process_group()


def test_what_was_made_of_gathered_weights_is_forgotten(world):
    """They are gathered at the same place each time, and torch counts no change, so no key could tell."""
    layer = nn.Linear(3, 3)
    layer.cache = ParameterCache()
    together, found = Together(layer, nn.Module(), world), []
    for _ in range(2):
        with together.gathered():
            found.append(layer.cache.get([], object))
            assert layer.cache.get([], object) is found[-1]
    assert found[0] is not found[1]
