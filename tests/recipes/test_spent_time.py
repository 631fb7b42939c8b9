"""Seconds of a program of several calls."""

import time

import pytest

from regard.recipes import spent_time
from regard.recipes.spent_time import SpentTime


def test_a_killed_process_loses_no_more_than_a_tick(tmp_path, monkeypatch):
    monkeypatch.setattr(spent_time, "TICK", 0.02)
    file, start = tmp_path / "steps" / "seconds.json", time.monotonic()
    with SpentTime(file).counting():
        while not file.is_file() or SpentTime(file).seconds < 0.2:  # as the next process finds it after a kill now
            assert time.monotonic() - start < 30.0
            time.sleep(0.01)
        assert SpentTime(file).seconds <= time.monotonic() - start


def test_calls_add_up_however_they_end(tmp_path):
    file = tmp_path / "seconds.json"
    file.write_text("100")
    spent = SpentTime(file)
    assert spent.seconds == 100
    with pytest.raises(ValueError), spent.counting():
        assert spent.seconds >= 100
        time.sleep(0.05)
        raise ValueError
    assert 100.05 <= SpentTime(file).seconds == spent.seconds < 200
