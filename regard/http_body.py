"""HTTP of clients: bodies of answers within limits of size and time, an opener without redirects."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.request import HTTPRedirectHandler, OpenerDirector, build_opener

_PIECE = 65536  # bytes read at once


def limited_body(answer: Any, *, most: int, seconds: float) -> Iterator[bytes]:
    """Yield the body of an answer of urllib in pieces.

    Raises ConnectionAbortedError above a number of bytes, TimeoutError after a number of seconds in all: a server may
    send a byte at a time.
    """
    until, size = time.monotonic() + seconds, 0
    while piece := answer.read1(_PIECE):
        size += len(piece)
        if size > most:
            raise ConnectionAbortedError(f"its answer has more than the limit of {most:,} bytes")
        if time.monotonic() > until:
            raise TimeoutError(f"its answer takes longer than the limit of {seconds:,.0f} seconds")
        yield piece


KEY_VARIABLE = "REGARD_API_KEY"  # environment variable with the key


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def direct_opener() -> OpenerDirector:
    """Return an opener of URLs that takes a redirect as an error of HTTP."""
    return build_opener(_NoRedirects)
