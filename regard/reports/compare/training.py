"""Trains what is planned, some at once, each in a process of its own."""

import time
from collections import deque
from collections.abc import Mapping, Sequence

from regard.reports.compare.child import DONE, ERROR, FAULT, INTERRUPTED, WARNING, Child
from regard.reports.compare.conditions import Conditions, note, shared
from regard.reports.compare.failing import Failed, failed_there, forget
from regard.reports.compare.plan import Planned
from regard.reports.compare.progress import Watch
from regard.reports.compare.runs import Stage
from regard.runs import RunFolder
from regard.training.interrupt import Interrupted, listening


def train_all(runs: Sequence[Planned], stages: Mapping[str, Stage], jobs: int, watch: Watch) -> Failed:
    """Trains the runs that have not finished. One that fails does not keep the others from being trained.

    Raises Interrupted after Ctrl-C or SIGTERM, when those that were being trained have ended, and tells of each that
    could not save. A second Ctrl-C does not wait for them.
    """
    waiting = deque(planned for planned in runs if stages[planned.name] != "finished")
    working, failed, lost, conditions = list[Child](), Failed(), Failed(), shared(jobs)
    with listening() as interruption:
        try:
            while working or (waiting and not interruption()):
                while waiting and len(working) < jobs and not interruption():
                    planned = waiting.popleft()
                    working.append(_begun(planned, conditions, watch, resume=stages[planned.name] == "begun"))
                for child in [child for child in working if child.code is not None]:
                    working.remove(child)
                    _settle(child, lost if interruption() else failed, watch, interrupted=interruption())
                if interruption():
                    for child in working:
                        child.ask_to_end()
                watch.draw()
                time.sleep(0.1)
        finally:
            for child in working:  # only where something went wrong, or after a second Ctrl-C
                child.end()
    if interruption():
        told = ["what was being trained is saved", *(f"but not {name}: {why}" for name, why in lost.items())]
        raise Interrupted(", ".join(told))
    return failed


def _begun(planned: Planned, conditions: Conditions, watch: Watch, *, resume: bool) -> Child:
    watch.begin(planned)
    note(planned, conditions, resumed=resume)
    return Child(planned, resume=resume, threads=conditions.threads)


def _settle(child: Child, failed: Failed, watch: Watch, *, interrupted: bool) -> None:
    """What a process that has ended did."""
    planned, code, said = child.planned, child.code or DONE, child.said()
    for line in said:
        if line.startswith(WARNING):
            watch.warn(f"{planned.name}: {line.removeprefix(WARNING)}")
    if code == DONE:
        forget(planned)
        watch.end(planned)
    elif code == INTERRUPTED and interrupted:
        watch.stop(planned, "saved" if RunFolder(planned.path).started else "ended before there was anything to save")
    else:
        faults = [line.removeprefix(ERROR) for line in said if line.startswith(ERROR)]
        if code != FAULT or not faults:
            how = f"was ended by signal {-code}" if code < 0 else "was stopped" if code == INTERRUPTED else "failed"
            faults = [failed_there(planned, said, how)]
        failed[planned.name] = "\n".join(faults)
        watch.stop(planned, f"failed: {faults[-1]}")
