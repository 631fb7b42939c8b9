"""Processor time of each test and of the processes that it started: other work on the machine does not count in it."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

BEGIN = pytest.StashKey[float]()


def processor_time() -> float:
    """Seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


class Durations:
    """Collects the processor time of each test from every worker; prints as many tests as `--durations` names."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.tests, self.files = Counter[str](), Counter[str]()
        self.workers = 0.0  # with their start and their collection

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        item.stash[BEGIN] = processor_time()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        report = yield
        now = processor_time()
        report.processor_time = now - item.stash[BEGIN]
        item.stash[BEGIN] = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        seconds = getattr(report, "processor_time", 0.0)  # a worker that crashed reports none
        self.tests[report.nodeid] += seconds
        self.files[report.nodeid.partition("::")[0]] += seconds

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["processor_time"] = processor_time()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        self.workers += getattr(node, "workeroutput", {}).get("processor_time", 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        total, count = self.workers or processor_time(), terminalreporter.config.getoption("--durations")
        if self.path is not None:
            rows = {"seconds": total, "files": self.files, "tests": self.tests}
            self.path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        if count:
            terminalreporter.section(f"{count} slowest by processor time, of {total / 60:.1f} minutes")
            for name, seconds in self.tests.most_common(count):
                terminalreporter.write_line(f"{seconds:.2f}s {name}")
