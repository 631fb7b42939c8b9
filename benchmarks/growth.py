"""How time grows with length: processor seconds over rounds, and the slope of their logarithm."""

import gc
import math
import statistics
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

Case = TypeVar("Case", bound=Hashable)


def times(
    cases: Sequence[Case], make: Callable[[Case], Callable[[], None]], repeats: Callable[[Case], int], rounds: int
) -> dict[Case, float]:
    """The median of a process's own seconds for each case, which other work on the machine hardly changes.

    Each round takes every case once, from another one on; short ones are run `repeats` times.
    """
    found: dict[Case, list[float]] = {case: [] for case in cases}
    for number in range(rounds):
        turned = number * len(cases) // rounds
        for case in [*cases[turned:], *cases[:turned]]:
            run, often = make(case), repeats(case)
            run()  # warm up
            start = time.process_time()
            for _ in range(often):
                run()
            found[case].append((time.process_time() - start) / often)
            gc.collect()
    return {case: statistics.median(each) for case, each in found.items()}


def exponent(seconds: Mapping[int, float]) -> float:
    """The slope of log time over log length, by least squares: 1 grows as the length, 2 as its square.

    nan of fewer than two lengths.
    """
    if len(seconds) < 2:
        return math.nan
    return statistics.linear_regression(*zip(*((math.log(n), math.log(s)) for n, s in seconds.items()), strict=True))[0]
