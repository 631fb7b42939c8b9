"""Bodies of answers are read within their limits: a server may send too much, or a byte at a time."""

import io
import time

import pytest

from regard.http_body import limited_body


class Slow(io.BytesIO):
    """A body that comes byte by byte."""

    def read1(self, size=-1):
        time.sleep(0.01)
        return super().read1(min(size, 1))


def test_whole_bodies_are_read():
    data = bytes(range(256)) * 1000
    assert b"".join(limited_body(io.BytesIO(data), most=len(data), seconds=9.0)) == data


def test_endless_bodies_are_refused():
    with pytest.raises(ConnectionError, match="limit of 100 bytes"):
        list(limited_body(io.BytesIO(bytes(101)), most=100, seconds=9.0))
    with pytest.raises(TimeoutError, match="longer than the limit"):
        list(limited_body(Slow(bytes(99)), most=100, seconds=0.05))
