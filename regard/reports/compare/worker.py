"""A training in a process of its own, which ends when the comparison does.

The first line of stdin tells what to train; its end means that whoever wrote it is gone, and then training saves and
ends as after Ctrl-C.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import torch

from regard.errors import RegardError
from regard.experiment import read_experiment
from regard.reports.compare.training import DONE, ERROR, FAULT, INTERRUPTED
from regard.runs import train_run


def main() -> int:
    """Trains; what is wrong is told on stderr."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what is started in the background
    try:
        job: dict[str, Any] = json.loads(sys.stdin.readline())
        threading.Thread(target=_end_with_the_other, daemon=True).start()
        torch.set_num_threads(job["threads"])
        done = train_run(read_experiment(Path(job["config"]), job["changes"]), resume=job["resume"], quiet=True)
    except RegardError as error:
        return _told(str(error))
    except OSError as error:
        return _told(f"{error.filename or 'failed'}: {error.strerror or error}")
    except KeyboardInterrupt:
        return INTERRUPTED
    return DONE if done else INTERRUPTED


def _told(text: str) -> int:
    for line in text.splitlines():
        print(f"{ERROR}{line}", file=sys.stderr)
    return FAULT


def _end_with_the_other() -> None:
    while os.read(0, 1):  # past Python's buffer, whose lock must be free when the process ends
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
