"""The benchmark of start-up: processes that are measured from outside, and its table by hand."""

import pytest

from benchmarks import benchmark

startup = benchmark("startup")


def test_seconds_above_the_reference_are_those_of_the_same_round():
    torch = [startup.Started(1.0, 2.0, 100.0), startup.Started(5.0, 6.0, 120.0)]
    other = [startup.Started(1.5, 3.0, 200.0), startup.Started(5.25, 6.5, 150.0)]
    row = startup.table({startup.REFERENCE: torch, "other": other}).splitlines()[-1]
    assert row == ("| other | 3.38 [1.50..5.25] | 0.38 [0.25..0.50] | 4.75 [3.00..6.50] | 0.75 [0.50..1.00] | 200 |")


def test_a_process_that_computes_takes_more_of_the_processor_than_one_that_sleeps():
    busy = startup.started(["-c", "import time\nwhile time.process_time() < 0.3: pass"])
    asleep = startup.started(["-c", "import time; time.sleep(0.3)"])
    assert busy.cpu >= 0.3 > asleep.cpu
    assert min(busy.wall, asleep.wall) >= 0.3
    assert busy.megabytes > 1


def test_a_process_that_fails_ends_the_benchmark():
    with pytest.raises(SystemExit, match="failed"):
        startup.started(["-c", "raise SystemExit(3)"])


def test_every_process_starts_once_a_round(monkeypatch):
    order = []
    monkeypatch.setattr(startup, "started", lambda words: order.append(words[0]) or startup.Started(1.0, 1.0, 1.0))
    found = startup.race({"a": ["a"], "b": ["b"]}, 3)
    assert "".join(order) == "ab" + "ab" + "ba" + "ab"
    assert [len(each) for each in found.values()] == [3, 3]
