"""One training in a process of its own, which ends when the comparison does.

`regard train` would read the settings again, and would continue after the comparison was killed. Here the first line
of stdin holds the settings, and the end of stdin stops the training, as Ctrl-C does. A training that does not react
ends itself, as a killed comparison cannot end it.
"""

import json
import os
import signal
import sys
import threading
import time
from typing import Any

import torch

from regard.config import read_settings
from regard.errors import RegardError
from regard.experiment import Experiment, load_parts, named_parts
from regard.reports.compare.train import DONE, ERROR_MARK, FAULT_CODE, INTERRUPTED_CODE, KILL_AFTER, reason
from regard.runs import train_run


def main() -> int:
    """Train what stdin says; returns the exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what is started in the background
    try:
        job = json.loads(sys.stdin.readline())
        threading.Thread(target=_end_with_stdin, args=(job["parent"],), daemon=True).start()
        return train_job(job)
    except KeyboardInterrupt:
        return INTERRUPTED_CODE


def train_job(job: dict[str, Any]) -> int:
    """Train one job; returns the exit code."""
    try:
        torch.set_num_threads(job["threads"])
        load_parts(named_parts(job["experiment"]))  # of the configs, which a user named
        done = train_run(read_settings(Experiment, job["experiment"]), resume=job["resume"], quiet=True)
    except (RegardError, OSError) as error:
        for line in reason(error).splitlines():
            print(f"{ERROR_MARK}{line}", file=sys.stderr)
        return FAULT_CODE
    return DONE if done else INTERRUPTED_CODE


def _end_with_stdin(parent: int) -> None:
    while os.read(0, 1):  # past Python's buffer, whose lock must be free when the process ends
        pass
    os.kill(os.getpid(), signal.SIGINT)
    while os.getppid() == parent:  # which waits for what is saved now, or kills
        time.sleep(0.1)
    time.sleep(KILL_AFTER)
    os._exit(INTERRUPTED_CODE)


if __name__ == "__main__":
    sys.exit(main())
