"""Work that would hold up all other requests is done beside them."""

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
