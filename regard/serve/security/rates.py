"""How often one client may ask."""

import time
from collections.abc import Callable

MINUTE = 60.0  # seconds
FORGET_ABOVE = 10_000  # clients


class Rates:
    """Requests a minute of each client, in windows that begin with its first request.

    A client that goes on all the same is banned after `flood` refusals, each of which is forgiven after a minute.
    """

    def __init__(self, limit: int, flood: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.flood, self._clock = limit, flood, clock
        self._windows: dict[str, tuple[float, int]] = {}  # client → when it began, requests
        self._refusals: dict[str, list[float]] = {}

    def wait(self, client: str) -> float:
        """Counts a request of a client → seconds until it may ask (0: now)."""
        if self.limit < 0:
            return 0.0
        now = self._clock()
        self._forget(now)
        began, count = self._windows.get(client, (now, 0))
        if now - began >= MINUTE:
            began, count = now, 0
        if count < self.limit:
            self._windows[client] = began, count + 1
            return 0.0
        if self.flood >= 0:
            self._refusals[client] = [*self._refusals.get(client, []), now][-self.flood - 1 :]
        return max(began + MINUTE - now, 0.001)

    def banned(self, client: str) -> bool:
        """Whether a client was refused too often of late."""
        recent = [when for when in self._refusals.get(client, ()) if self._clock() - when < MINUTE]
        return 0 <= self.flood < len(recent)

    def _forget(self, now: float) -> None:
        if len(self._windows) > FORGET_ABOVE:
            self._windows = {name: window for name, window in self._windows.items() if now - window[0] < MINUTE}
            self._refusals = {name: times for name, times in self._refusals.items() if now - times[-1] < MINUTE}
