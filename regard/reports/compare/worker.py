"""A training in a process of its own, which ends when the comparison does.

The first line of stdin tells what to train; its end means that whoever wrote it is gone, and then training saves and
ends as after Ctrl-C.
"""

import json
import os
import signal
import sys
import threading
from typing import Any

import torch

from regard.config import read_settings
from regard.errors import RegardError
from regard.experiment import Experiment
from regard.reports.compare.child import DONE, ERROR, FAULT, INTERRUPTED
from regard.reports.compare.failing import reason
from regard.runs import train_run


def main() -> int:
    """Trains; what is wrong is told on stderr."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what is started in the background
    try:
        job = json.loads(sys.stdin.readline())
        threading.Thread(target=_end_with_the_other, daemon=True).start()
        return work(job)
    except KeyboardInterrupt:
        return INTERRUPTED


def work(job: dict[str, Any]) -> int:
    """What `job_of` made; the exit code."""
    try:
        torch.set_num_threads(job["threads"])
        done = train_run(read_settings(Experiment, job["experiment"]), resume=job["resume"], quiet=True)
    except (RegardError, OSError) as error:
        for line in reason(error).splitlines():
            print(f"{ERROR}{line}", file=sys.stderr)
        return FAULT
    return DONE if done else INTERRUPTED


def _end_with_the_other() -> None:
    while os.read(0, 1):  # past Python's buffer, whose lock must be free when the process ends
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
