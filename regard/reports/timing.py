"""How long a trained model takes for some texts."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

WARM = 8  # texts before the clock starts: what is compiled or laid out once is not what a text costs
Made = TypeVar("Made")
Given = TypeVar("Given")


class Spent(NamedTuple):
    """What some work took."""

    seconds: float  # on the wall
    core_seconds: float  # of processor time, all threads of the process together


def timed(run: Callable[[Sequence[Given]], Made], texts: Sequence[Given]) -> tuple[Made, Spent]:
    """What `run` makes of the texts, and what it took. The first few are done once before."""
    run(texts[:WARM])
    start, core_start = time.perf_counter(), time.process_time()
    made = run(texts)
    return made, Spent(time.perf_counter() - start, time.process_time() - core_start)
