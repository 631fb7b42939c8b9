"""Runs slow work in threads, so that it does not block the event loop."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

LARGE = 2000  # characters; shorter texts are processed faster than handed to a thread

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def in_thread(size: int, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Return the function's result; run it in a thread if the texts have `LARGE` characters or more."""
    if size < LARGE:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


class ThreadSlots:
    """Runs at most `count` functions at a time, each in a thread."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    @property
    def full(self) -> bool:
        """Return whether the next call would have to wait."""
        return self._free.locked()

    async def work(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return the function's result. A cancelled call keeps its slot until its thread ends."""
        await self._free.acquire()
        work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
        work.add_done_callback(lambda _: self._free.release())
        return await asyncio.shield(work)
