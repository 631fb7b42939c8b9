"""A process that answers shards: `python -m regard.recipes.shards FOLDER [SHARD]`.

Without a number it answers every shard that no other process holds.
"""

import signal
import sys

from regard.errors import RegardError
from regard.recipes.shards.worker import FAULT, ShardWorker


def main() -> None:
    """Answer one shard, or all that are free."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command ends its processes
    folder, *numbers = sys.argv[1:]
    try:
        worker = ShardWorker(folder)
        for number in [*map(int, numbers)] or range(len(worker.plan.shards)):
            worker.answer(number)
    except RegardError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        sys.exit(FAULT)


main()
