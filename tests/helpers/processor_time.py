"""A limit on how long something takes, told by processor time: other work on the machine does not count in it.

A shared processor is now and then many times slower than it is, so a limit is missed only when every attempt misses it.
What the limits are there to find, work that grows with the square of a text, misses them all by far.
"""

import time
from collections.abc import Callable
from typing import TypeVar

ATTEMPTS = 4

Found = TypeVar("Found")


def within(seconds: float, work: Callable[[], Found]) -> Found:
    """What `work` returns; fails when it took more processor time than `seconds` every time it was tried."""
    taken = list[float]()
    while len(taken) < ATTEMPTS:
        begin = time.thread_time()
        found = work()
        taken.append(time.thread_time() - begin)
        if taken[-1] < seconds:
            return found
    raise AssertionError(f"took {', '.join(f'{each:.2f}' for each in taken)} seconds, not less than {seconds}")
