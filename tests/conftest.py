"""What every test may rely on: seeded draws, and small helpers to make data."""

import pytest
import torch
from hypothesis import settings

settings.register_profile("regard", deadline=None, derandomize=True)  # shared machines are slow now and then
settings.load_profile("regard")


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(7)
