"""Limits of an engine, lanes of its texts, and statistics of a batch."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from regard.serve.engine.questions import SHORT_PIECES

DIRECT = 4  # requests at hand at most for which a server of one core searches short texts itself: more share batches
MOST_THREADS = 4  # of a model, by default: Python's lock limits more
BEAT = 0.5  # seconds between two heartbeats of a model's process
QUOTA = Path("/sys/fs/cgroup/cpu.max")  # CPU quota of a container: microseconds per period


class Lane(NamedTuple):
    """Texts of similar length. Lanes keep long texts from delaying short ones, which are a hundred times faster."""

    pieces: float  # maximum of a text
    share: float  # weight in dividing core time among the busy lanes
    patience: float  # maximum time of a batch, in `max_batch_seconds`
    queue: float  # maximum number of waiting texts, in `max_queue`


LANES = (Lane(SHORT_PIECES, 4.0, 1.0, 1.0), Lane(120, 2.0, 4.0, 0.5), Lane(math.inf, 1.0, 8.0, 0.5))


@dataclass(frozen=True)
class Limits:
    """Limits of an engine. Tokens are source tokens, padding included.

    The process of a model is restarted when it sends no heartbeat for `silent_after` seconds, when a batch has neither
    advanced a step nor used the processor for `idle_after`, has not advanced a step for `stuck_after`, or
    when the model is not loaded within `load_within` seconds.
    """

    max_batch_tokens: int = 8192  # of one batch of the model
    changes: tuple[str, ...] = ()  # settings of every model: decoding.precision=int8
    engine: str | None = None  # of exports; None: the native one, of runs
    max_batch_seconds: float = 0.5  # target time of a batch
    batch_wait: float = 0.005  # seconds at most that the first of a batch waits for others, see `Pace.wait`
    max_queue: int = 256  # waiting texts; half of it for long texts, in a queue of their own
    max_cost: int = 1_000_000  # tokens of a request, see `questions`
    silent_after: float = 10.0
    idle_after: float = 30.0
    stuck_after: float = 120.0
    load_within: float = 600.0
    threads: int | None = None  # parallel batches; None: `threads_each`
    direct_search: int | None = None  # requests at hand at most for a search in the server; None: by the cores


class Batched(NamedTuple):
    """Statistics of a finished batch."""

    items: int
    tokens: int  # with the end of each text
    seconds: float  # in the model's process
    waited: float  # mean seconds in the queue
    out_of_memory: int  # splits of the batch
    confidences: Sequence[float] = ()  # of the answers with one, 0 to 1
    withheld: int = 0  # answers withheld for low confidence


Watcher = Callable[[Batched], None]


def direct_requests() -> int:
    """Return the default of `direct_search`: with several cores another process takes a part of the work."""
    return DIRECT if cores() == 1 else 1


def cores() -> int:
    """Return the number of usable cores: by CPU affinity and by the container's quota."""
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = QUOTA.read_text(encoding="ascii").split()
        return max(1, min(mine, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max"
        return mine


def threads_each(cores: int, engines: int) -> int:
    """Return the threads of each of `engines`, which share the cores. The server itself needs little time."""
    return min(max(cores // max(engines, 1), 1), MOST_THREADS)
