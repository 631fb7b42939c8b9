"""Several batches at once, one thread each: small products gain less from a second thread than a second batch does."""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.packing import chunks

Rows = NDArray[np.int64]
_T = TypeVar("_T")

WORTH = 2048  # tokens below which all threads work on one batch


def planned(lengths: Sequence[int], tokens: int, threads: int) -> tuple[list[Rows], int]:
    """Texts of these lengths → which of them share a batch of at most so many tokens, and how many go at once.

    Several threads share the budget, and their batches are about equal, so that none waits long for the last one.
    """
    total, most = sum(lengths), max(tokens // threads, 1)
    if threads == 1 or total < WORTH:
        return chunks(lengths, tokens), 1
    wanted = threads * math.ceil(total / tokens)
    share = max(total // wanted, 1)
    batches = chunks(lengths, min(share, most))
    while len(batches) > wanted and share < most:  # padding takes what is between
        share += math.ceil(share * 0.05)
        batches = chunks(lengths, min(share, most))
    return batches, threads


def at_once(answer: Callable[[Rows], list[_T]], batches: Sequence[Rows], threads: int) -> Iterator[list[_T]]:
    """The answers in the order of the batches; with several threads each of these computes with one."""

    def alone(rows: Rows) -> list[_T]:
        with torch.inference_mode():  # which a thread has for itself
            return answer(rows)

    if threads == 1:
        yield from map(alone, batches)
        return
    with _one_thread_each(threads) as pool:
        yield from pool.map(alone, batches)


@contextmanager
def _one_thread_each(threads: int) -> Iterator[ThreadPoolExecutor]:
    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, "regard", initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)  # some of what it sets is the process's, not the thread's
