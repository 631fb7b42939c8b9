"""Work done ahead by threads, handed out in order."""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")
R = TypeVar("R")


def prefetch(work: Callable[[_T], R], items: Iterator[_T], workers: int, ahead: int) -> Generator[R, None, None]:
    """Yield `map(work, items)`, up to `ahead` results in advance; an error is raised in place of its result.

    Closing the generator ends the threads. Without workers each result is computed on request.
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
            except Exception as error:  # of `items`: raised after the results before it
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
