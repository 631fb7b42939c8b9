"""How long what is left takes, by hand; and logs that are cut off anywhere."""

import io
import json
from types import SimpleNamespace

import pytest
from rich.console import Console

from regard.reports.compare import progress as compare_progress
from regard.reports.compare.progress import Watch
from regard.reports.compare.time import Place, all_left, duration, kept, place_of, run_left

NO_LIMITS = {"max_updates": None, "max_minutes": None, "max_core_minutes": None, "max_epochs": None}


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (3570, "1 h 0 min"), (7800, "2 h 10 min")]
)
def test_durations(seconds, told):
    assert duration(seconds) == told


@pytest.mark.parametrize(
    ("limits", "place", "left"),
    [
        ({}, Place(10, 20.0), None),
        ({"max_updates": 30}, Place(10, 20.0), 40.0),
        ({"max_updates": 30}, Place(), None),
        ({"max_minutes": 1}, Place(10, 20.0), 40.0),
        ({"max_minutes": 1, "max_updates": 20}, Place(10, 20.0), 20.0),
        ({"max_minutes": 0.1}, Place(10, 20.0), 0.0),
        ({"max_core_minutes": 1}, Place(10, 20.0, 15.0), 60.0),  # 45 s of processor time, at 20 s for 15
        ({"max_core_minutes": 1}, Place(), None),
    ],
)
def test_what_is_left_of_a_run(limits, place, left):
    assert run_left({**NO_LIMITS, **limits}, place) == left


@pytest.mark.parametrize(
    ("active", "waiting", "whole", "jobs", "left"),
    [
        ([], 3, 10.0, 1, 30.0),
        ([], 3, 10.0, 2, 20.0),
        ([4.0], 2, 10.0, 1, 24.0),
        ([4.0, 9.0], 2, 10.0, 2, 19.0),  # 4 + 10, 9 + 10
        ([4.0, 20.0], 2, 10.0, 2, 24.0),  # 4 + 10 + 10, 20
        ([4.0], 0, None, 2, 4.0),
        ([4.0], 1, None, 1, None),
        ([None], 0, None, 1, None),
    ],
)
def test_what_is_left_of_all(active, waiting, whole, jobs, left):
    assert all_left(active, waiting, whole, jobs) == left


def test_a_log_tells_the_last_update_and_the_last_score(tmp_path):
    events = [
        {"event": "update", "update": 25, "seconds": 3.0, "loss": 2.0},
        {"event": "validation", "update": 25, "seconds": 4.0, "bleu": 21.304, "loss": 1.0},
        {"event": "update", "update": 50, "seconds": 7.5, "core_seconds": 9.5, "loss": 1.5},
    ]
    log = tmp_path / "metrics.jsonl"
    lines = "".join(json.dumps(event) + "\n" for event in events)
    assert place_of(tmp_path) == Place()
    log.write_text(lines)
    assert place_of(tmp_path) == Place(50, 7.5, 9.5, "bleu 21.30")
    log.write_text("half a line\n" * 5000 + lines + '{"event": "upd')
    assert place_of(tmp_path) == Place(50, 7.5, 9.5, "bleu 21.30")


def test_what_a_run_ended_with(tmp_path):
    assert kept(tmp_path) == ""
    (tmp_path / "final.json").write_text('{"metric": "bleu", "score": null}')
    assert kept(tmp_path) == ""
    (tmp_path / "final.json").write_text('{"metric": "bleu", "score": 31.2}')
    assert kept(tmp_path) == ", dev bleu 31.20"


@pytest.mark.parametrize(("terminal", "end"), [(True, "\r"), (False, "\n")])
def test_a_line_tells_which_of_how_many_and_how_long(terminal, end, tmp_path, monkeypatch):
    for name in ("TERMINAL_SECONDS", "PLAIN_SECONDS"):
        monkeypatch.setattr(compare_progress, name, 0.0)
    limits = {**NO_LIMITS, "max_updates": 1000, "max_minutes": 10.0}
    runs = [
        SimpleNamespace(name=f"[a]-seed{seed}", path=tmp_path / str(seed), limits=lambda: limits) for seed in (1, 2)
    ]
    watch = Watch(36, 4, 2)
    watch.console = Console(file=io.StringIO(), force_terminal=terminal, width=300, markup=False, highlight=False)
    for run in runs:
        run.path.mkdir()
        watch.begin(run)
    (runs[0].path / "metrics.jsonl").write_text('{"event": "update", "update": 250, "seconds": 120.0}\n')
    watch.draw()
    assert watch.console.file.getvalue() == (
        "run 5 of 36, [a]-seed1: update 250 of 1,000, 6 min left · run 6 of 36, [a]-seed2: preparing"
        f" · all trained in about 2 h 10 min{end}"  # 10 minutes, and then 15 times the 2 + 6 of the other
    )
    watch.end(runs[0], "saved")
    assert "run 5 of 36, [a]-seed1: saved" in watch.console.file.getvalue()
