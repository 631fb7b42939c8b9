"""Shared by the tests of documents."""

import time
from contextlib import contextmanager

import pytest


@pytest.fixture
def quick():
    """Assert a limit on processor time, which other work on the machine does not change."""

    @contextmanager
    def within(seconds):
        begin = time.thread_time()
        yield
        assert time.thread_time() - begin < seconds

    return within
