"""The helpers of these tests, where the tests ask for them."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

HELPERS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("writers.py"))))


@pytest.fixture(scope="session")
def writers() -> SimpleNamespace:
    """Table writers, batches and tiny translators."""
    return HELPERS
