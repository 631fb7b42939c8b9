"""Work done ahead by threads, handed out in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 4  # results kept ready per worker


def prefetch(work: Callable[[T], R], items: Iterable[T], workers: int) -> Iterator[R]:
    """`map`, ahead of its reader by a few results; a fault of the work is raised where its result would stand.

    Closing the iterator ends the threads; no workers: everything is done when it is asked for.
    """
    if workers == 0:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="regard-data")
    waiting = deque[Future[R]]()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > workers * AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
