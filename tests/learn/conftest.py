"""Seeds of what is learnt: one in the quick tier, three with `-m slow` and `-m ''`."""

import pytest
import torch


@pytest.fixture(params=[7, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 2))], ids="seed {}".format)
def learning_seed(request: pytest.FixtureRequest, _seeded: None) -> int:
    """The seed that all random numbers of a test come from."""
    torch.default_generator.manual_seed(request.param)
    seed: int = request.param
    return seed
