"""Work that would hold up all other requests is done beside them, and not too much of it at a time."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

LARGE = 2000  # characters; what is smaller is done faster than handed over

P = ParamSpec("P")
T = TypeVar("T")


async def aside(size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The function's answer; in a thread of its own when the texts it works on are large."""
    if size < LARGE:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


class Places:
    """For so many pieces of heavy work at a time, each in a thread."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    @property
    def full(self) -> bool:
        """Whether one more would have to wait."""
        return self._free.locked()

    async def work(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The function's answer. A thread cannot be stopped: it keeps its place when nobody waits for it any more."""
        await self._free.acquire()
        work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
        work.add_done_callback(lambda _: self._free.release())
        return await asyncio.shield(work)
