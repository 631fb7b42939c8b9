"""Work done ahead by threads, handed out in order."""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")
R = TypeVar("R")


def prefetch(work: Callable[[_T], R], items: Iterator[_T], workers: int, ahead: int) -> Generator[R, None, None]:
    """`map`, up to `ahead` results before its reader; a fault is raised where the result would stand.

    Closing the generator ends the threads. No workers: everything is done when it is asked for.
    """
    if workers == 0:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="regard-data")
    waiting, fault = deque[Future[R]](), None
    try:
        while fault is None:
            try:
                waiting.append(pool.submit(work, next(items)))
            except Exception as error:  # of the items: told after the results before it
                fault = error
            else:
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if not isinstance(fault, StopIteration):
            raise fault
    finally:
        pool.shutdown(cancel_futures=True)
