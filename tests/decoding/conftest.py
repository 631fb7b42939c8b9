"""The helpers of these tests, where the tests ask for them."""

from types import ModuleType

import pytest
import writers as helpers


@pytest.fixture(scope="session")
def writers() -> ModuleType:
    """Table writers, batches and tiny translators."""
    return helpers
