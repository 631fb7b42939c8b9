"""How much memory a piece of work holds at once, counted block by block as torch asks for it and gives it back.

Not the size of the process: that hangs on what ran before, and on an allocator that keeps what is freed. Counted is
all that tensors take, those inside of torch's operations too; what a library takes for itself (a matrix product of MKL)
is not.
"""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

QUIET = {"KINETO_LOG_LEVEL": "99"}  # the profiler's own lines on stderr


def peak_bytes(work: Callable[[], object], device: torch.device) -> int:
    """The most that is held while `work` runs, beyond what was held before it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        work()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as seen:
        work()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        seen.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    taken = [(event["ts"], event["args"]["Bytes"]) for event in events if event.get("name") == "[memory]"]
    return _peak([count for _, count in sorted(taken, key=lambda one: one[0])])


def _peak(taken: list[int]) -> int:
    """The largest sum from the start on; what is given back is negative."""
    held = most = 0
    for count in taken:
        held += count
        most = max(most, held)
    return most
