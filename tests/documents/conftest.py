"""What the tests of texts share."""

import time
from contextlib import contextmanager

import pytest


@pytest.fixture
def quick():
    """A limit on the processor's time, so that other work on the machine does not matter."""

    @contextmanager
    def within(seconds):
        begin = time.thread_time()
        yield
        assert time.thread_time() - begin < seconds

    return within
