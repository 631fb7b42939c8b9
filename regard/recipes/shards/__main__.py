"""A process that answers shards: `python -m regard.recipes.shards FOLDER [FIRST STEP]`.

It answers the shards FIRST, FIRST + STEP, …, else all, and waits for those that another process holds.
"""

import signal
import sys

from regard.errors import RegardError
from regard.recipes.shards.worker import FAULT, ShardWorker


def main() -> None:
    """Answer every STEP-th shard, or all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command ends its processes
    folder, *numbers = sys.argv[1:]
    try:
        worker = ShardWorker(folder)
        first, step = map(int, numbers or (0, 1))
        worker.finish(range(first, len(worker.plan.shards), step))
    except RegardError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        sys.exit(FAULT)


main()
