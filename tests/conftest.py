"""What every test may rely on: seeded draws, and figures that are told when asked for."""

import gc
import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import torch
from durations import Durations
from hypothesis import settings
from torch import Tensor
from torch.testing import assert_close
from typer.main import get_command

settings.register_profile("regard", deadline=None, derandomize=True)  # shared machines are slow now and then
settings.load_profile("regard")

THREADS = torch.get_num_threads()
AssertAgrees = Callable[..., None]


@pytest.fixture(autouse=True, scope="session")
def _no_waiting() -> Iterator[None]:
    """No test takes the power from the machine, and the speed of training is measured for no longer than it must.

    What happens where the disk is full is put in place of this. The commands of an app are made once, as in a process.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        patch.setattr("regard.experiment.time_plan.SECONDS", 0.0)
        patch.setattr("regard.runs.rehearsal.TRIED_SECONDS", 1e-3)
        patch.setattr("typer.testing._get_command", cache(get_command))
        yield


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    torch.default_generator.manual_seed(7)  # torch.manual_seed keeps the stack of its caller for other devices
    yield
    torch.set_num_threads(THREADS)  # of the process: what a test leaves, all tests after it would wait for


@pytest.fixture
def assert_agrees(record_property: Callable[[str, object], None]) -> AssertAgrees:
    """assert_agrees("A08", actual, oracle): equal to within `tolerance`; the deviation is kept for `--deviations`."""

    def check(entry: str, actual: Tensor, oracle: Tensor, tolerance: float = 1e-6) -> None:
        assert_close(actual, oracle, rtol=0.0, atol=tolerance)
        deviation = float((actual - oracle).detach().abs().max()) if actual.numel() else 0.0
        record_property("deviation", (entry, deviation))

    return check


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--deviations", type=Path, help="write the largest deviation of each entry from its oracles here")
    parser.addoption("--processor-times", type=Path, help="write the processor time of each file and each test here")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Deviations(config.getoption("--deviations")))
    config.pluginmanager.register(Durations(config.getoption("--processor-times")))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keeps the collector of garbage off what lives as long as the session: modules, and thousands of tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


class _Deviations:
    """Collects what `assert_agrees` saw, from every worker."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.found: dict[str, list[float]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            for name, value in report.user_properties:
                if name == "deviation":
                    self.found.setdefault(value[0], []).append(value[1])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.path is not None and not hasattr(session.config, "workerinput"):
            rows = {entry: {"oracles": len(all_), "largest": max(all_)} for entry, all_ in sorted(self.found.items())}
            self.path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
