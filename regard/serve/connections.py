"""Connections that say nothing do not stay open; those that just say something at the end are heard."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0  # that the head of a request may take
LINGER = 0.25  # seconds in which a request that was on its way when the server was told to end still gets an answer


class Connection(H11Protocol):
    """As uvicorn has it, but closed when the head of a request does not come in time."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._wait_no_more()

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

    def _wait(self) -> None:
        """From the first piece of a head on, not from the last."""
        if self._waiting is None:
            self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
