"""Connections that say nothing do not stay open; those that just say something at the end are heard."""

import asyncio
from typing import Any

from regard.compat import http_protocol
from regard.serve.settings import KIB

HEAD_SECONDS = 10.0  # that the head of a request may take
MAX_HEAD = 32 * KIB  # what it may have: its address, and all its headers
TOO_LARGE = "The head of the request is too large."
LINGER = 0.25  # seconds in which a request that was on its way when the server was told to end still gets an answer


class Connection(http_protocol()):  # type: ignore[misc]  # uvicorn has no public name for it
    """As uvicorn has it, but closed when the head of a request does not come in time, or does not end."""

    _waiting: asyncio.TimerHandle | None = None
    _head, _unfinished = 0, 0  # bytes of the head that is read, and of pieces that did not bring its end

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._unfinished = 0
            self._wait_no_more()
            return
        self._unfinished += len(data)
        if self._unfinished <= MAX_HEAD:
            self._wait()
        elif not self.transport.is_closing():
            self.send_400_response(TOO_LARGE)

    def on_message_begin(self) -> None:
        self._head = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(name + value)
        super().on_header(name, value)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Not at once, since a request may be on its way."""
        if self.cycle is None or self.cycle.response_complete:
            self.loop.call_later(LINGER, self._shut)
        else:
            super().shutdown()

    def _shut(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()

    def _count(self, part: bytes) -> None:
        self._head += len(part)
        if self._head > MAX_HEAD:
            raise ValueError(TOO_LARGE)  # the parser stops, and the client is told that its request is wrong

    def _wait(self) -> None:
        """From the first piece of a head on, not from the last."""
        if self._waiting is None:
            self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
