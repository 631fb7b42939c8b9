"""A process that answers shards: `python -m regard.recipes.shards FOLDER [SHARD]`.

Without a number it answers every shard, and waits for those that another process holds.
"""

import signal
import sys

from regard.errors import RegardError
from regard.recipes.shards.worker import FAULT, ShardWorker


def main() -> None:
    """Answer one shard, or all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command ends its processes
    folder, *numbers = sys.argv[1:]
    try:
        worker = ShardWorker(folder)
        worker.finish([*map(int, numbers)] or range(len(worker.plan.shards)))
    except RegardError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        sys.exit(FAULT)


main()
