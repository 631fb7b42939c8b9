"""Time on the wall and of the processor as one value."""

from types import SimpleNamespace

from regard.training import clock
from regard.training.clock import Clock, ClockTime


def test_both_are_added_and_divided():
    assert ClockTime(3.0, 1.0) + ClockTime(1.0, 0.5) - ClockTime(2.0, 1.0) == ClockTime(2.0, 0.5)
    assert ClockTime(3.0, 1.0) / 2 == ClockTime(1.5, 0.5)
    assert ClockTime(4.0, 2.0).rates(8) == (2.0, 4.0)


def test_a_lap_ends_where_the_next_begins(monkeypatch):
    now = {"wall": 0.0, "core": 0.0}
    times = SimpleNamespace(monotonic=lambda: now["wall"], process_time=lambda: now["core"])
    monkeypatch.setattr(clock, "time", times)
    found = Clock()
    now.update(wall=5.0, core=1.0)
    assert found.lap() == ClockTime(5.0, 1.0)
    now.update(wall=7.0, core=2.0)
    found.restart()
    now.update(wall=8.0, core=4.0)
    assert found.lap() == ClockTime(1.0, 2.0)


def test_processes_share_the_wall_and_add_up_processor_time():
    found = Clock()
    assert found.add([ClockTime(2.0, 1.0), ClockTime(2.5, 1.5)]) == ClockTime(2.0, 2.5)
    found.add([ClockTime(1.0, 1.0)])
    assert found.spent == ClockTime(3.0, 3.5)
