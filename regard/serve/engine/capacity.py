"""Limits of an engine, the lanes of its texts, and what it tells of a batch."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from regard.serve.engine.questions import SHORT_PIECES

MOST_THREADS = 4  # of a model, unless more are asked for: they take turns with Python's lock
BEAT = 0.5  # seconds between two signs of life of a model's process
QUOTA = Path("/sys/fs/cgroup/cpu.max")  # what a container may use: microseconds, of so many


class Lane(NamedTuple):
    """Texts of like lengths. They wait apart from others: a long text takes a hundred times as long as a sentence."""

    pieces: float  # that a text has at most
    share: float  # of the time of the cores, beside those of the other lanes that have something to do
    patience: float  # how many times `max_batch_seconds` a batch may take, which keeps none of the shorter waiting
    queue: float  # how many times `max_queue` texts may wait


LANES = (Lane(SHORT_PIECES, 4.0, 1.0, 1.0), Lane(120, 2.0, 4.0, 0.5), Lane(math.inf, 1.0, 8.0, 0.5))


@dataclass(frozen=True)
class Limits:
    """How much an engine takes on. Tokens are pieces of the source, padding included.

    Its process is started anew when nothing has been heard of it for `silent_after` seconds, when a batch has neither
    come a step further nor used the processor for `idle_after`, has not come a step further for `stuck_after`, or
    has not loaded its model `load_within` so many seconds of its start.
    """

    max_batch_tokens: int = 8192  # of one batch of the model
    changes: tuple[str, ...] = ()  # settings of every model: decoding.precision=int8
    max_batch_seconds: float = 0.5  # batches are as small as to take about so long, if the model's speed allows
    batch_wait: float = 0.005  # seconds that the first of a batch waits for others
    max_queue: int = 256  # texts that wait; of longer ones, which wait apart, half as many
    max_cost: int = 1_000_000  # pieces of a request, as questions count their cost
    silent_after: float = 10.0
    idle_after: float = 30.0
    stuck_after: float = 120.0
    load_within: float = 600.0
    threads: int | None = None  # batches at a time; None: as `threads_each` has it


class Batched(NamedTuple):
    """What there is to tell of a batch that was worked on."""

    items: int
    tokens: int  # pieces, with an end for each text
    seconds: float  # in the model's process
    waited: float  # seconds in the queue, the mean of its items
    out_of_memory: int  # times that it had to be split
    confidences: Sequence[float] = ()  # of the answers that have one, 0 to 1
    withheld: int = 0  # answers that were not sure enough to be given


Watcher = Callable[[Batched], None]


def cores() -> int:
    """Cores this process may use: by its affinity, and by the quota of its container."""
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = QUOTA.read_text(encoding="ascii").split()
        return max(1, min(mine, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max"
        return mine


def threads_each(cores: int, engines: int) -> int:
    """Threads of each of so many engines: they share the cores. The server itself needs little of them."""
    return min(max(cores // max(engines, 1), 1), MOST_THREADS)
