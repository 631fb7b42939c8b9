"""How long what is left takes, by hand; and logs that are cut off anywhere."""

import io
import json
from types import SimpleNamespace

import pytest
from rich.console import Console

from regard.reports.compare import progress as compare_progress
from regard.reports.compare.progress import (
    TrainingPosition,
    Watch,
    duration,
    events,
    final_score,
    position_of,
    seconds_left_of_all,
    seconds_left_waiting,
    seconds_per_run,
    seconds_to_limit,
)
from regard.reports.timing import TimeSpent

NO_LIMITS = {"max_updates": None, "max_minutes": None, "max_core_minutes": None, "max_epochs": None}


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (3570, "1 h 0 min"), (7800, "2 h 10 min")]
)
def test_durations(seconds, told):
    assert duration(seconds) == told


def log(run, *lines, event="update"):
    """Lines of (update, seconds, core seconds)."""
    run.mkdir(exist_ok=True)
    with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
        for update, seconds, core_seconds in lines:
            told = {"event": event, "update": update, "seconds": seconds, "core_seconds": core_seconds}
            file.write(json.dumps(told) + "\n")


@pytest.mark.parametrize(
    ("limits", "place", "left"),
    [
        ({}, TrainingPosition(10, TimeSpent(20.0, 15.0), 2.0, 3.0), None),
        ({"max_updates": 30}, TrainingPosition(10, TimeSpent(20.0, None), per_update=3.0), 60.0),
        ({"max_updates": 30}, TrainingPosition(), None),
        ({"max_minutes": 1}, TrainingPosition(10, TimeSpent(20.0, None)), 40.0),
        ({"max_minutes": 1, "max_updates": 20}, TrainingPosition(10, TimeSpent(20.0, None), per_update=2.0), 20.0),
        ({"max_minutes": 0.1}, TrainingPosition(10, TimeSpent(20.0, None)), 0.0),
        (
            {"max_core_minutes": 1},
            TrainingPosition(10, TimeSpent(20.0, 15.0), pace=2.0),
            90.0,
        ),  # 45 core seconds of 2 s each
        ({"max_core_minutes": 1}, TrainingPosition(), None),
    ],
)
def test_what_is_left_of_a_run(limits, place, left):
    assert seconds_to_limit({**NO_LIMITS, **limits}, place) == left


def test_a_halt_does_not_slow_the_pace(tmp_path):
    """Ten updates take 20 s on the wall and 10 s of the processor, a validation after them 4 s and 2 s; and once the
    machine slept for an hour.
    """
    log(tmp_path, (10, 20.0, 10.0), (20, 44.0, 22.0), (30, 3664.0, 32.0), (40, 3688.0, 44.0), (50, 3708.0, 54.0))
    place = position_of(tmp_path)
    assert place.pace == 2.0
    assert place.per_update == 2.0 * (54 - 10) / 40
    assert place.work_seconds == 108.0
    assert seconds_to_limit({**NO_LIMITS, "max_core_minutes": 2}, place) == 132.0


def test_the_last_lines_tell_the_pace(tmp_path):
    """A machine that was slow at first is not slow now."""
    log(tmp_path, *((number, 9.0 * number, 1.0 * number) for number in range(1, 300)))
    assert position_of(tmp_path).pace == 9.0
    log(tmp_path, *((number, 2691.0 + (number - 299) * 1.5, 1.0 * number) for number in range(300, 700)))
    assert (position_of(tmp_path).pace, position_of(tmp_path).per_update) == (1.5, 1.5)


def test_a_single_line_is_seen_from_the_beginning(tmp_path):
    log(tmp_path, (25, 50.0, 100.0))
    assert (position_of(tmp_path).pace, position_of(tmp_path).per_update) == (0.5, 2.0)


def test_a_log_without_processor_time_tells_the_median_of_its_lines(tmp_path):
    lines = [{"event": "update", "update": 10 * n, "seconds": 30.0 * n + (n > 2) * 5000} for n in range(1, 5)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    place = position_of(tmp_path)
    assert (place.pace, place.per_update, place.work_seconds) == (None, 3.0, place.spent.seconds)


def test_a_run_takes_as_long_as_those_that_have_ended_or_as_its_limit_allows():
    ended = [TrainingPosition(10, TimeSpent(9999.0, 50.0), pace=2.0), TrainingPosition(10, TimeSpent(80.0, None))]
    limits = {**NO_LIMITS, "max_core_minutes": 1}
    active = [
        (limits, TrainingPosition(5, TimeSpent(7000.0, 10.0), pace=1.5)),
        (limits, TrainingPosition(5, TimeSpent(7000.0, 10.0), pace=2.5)),
        (limits, TrainingPosition()),
    ]
    assert seconds_per_run(ended, active) == 90.0
    assert seconds_per_run([], active) == 120.0
    assert seconds_per_run([], [(limits, TrainingPosition())]) is None


@pytest.mark.parametrize(
    ("limits", "place", "whole", "left"),
    [
        ({}, TrainingPosition(), 90.0, 90.0),
        ({}, TrainingPosition(), None, None),
        ({"max_core_minutes": 1}, TrainingPosition(), 90.0, 90.0),
        ({}, TrainingPosition(10, TimeSpent(9999.0, 15.0), pace=2.0), 90.0, 60.0),  # a halt is no work
        ({}, TrainingPosition(10, TimeSpent(9999.0, 15.0), pace=2.0), 20.0, 0.0),
        ({}, TrainingPosition(10, TimeSpent(20.0, None)), None, None),
        ({"max_core_minutes": 1}, TrainingPosition(10, TimeSpent(9999.0, 45.0), pace=2.0), None, 30.0),
        (
            {"max_core_minutes": 1},
            TrainingPosition(10, TimeSpent(9999.0, 45.0), pace=2.0),
            100.0,
            10.0,
        ),  # patience
    ],
)
def test_a_run_that_waits_goes_on_where_it_stopped(limits, place, whole, left):
    assert seconds_left_waiting({**NO_LIMITS, **limits}, place, whole) == left


@pytest.mark.parametrize(
    ("active", "waiting", "jobs", "left"),
    [
        ([], [10.0] * 3, 1, 30.0),
        ([], [10.0] * 3, 2, 20.0),
        ([4.0], [10.0, 5.0], 1, 19.0),
        ([4.0, 9.0], [10.0, 3.0], 2, 14.0),  # 4 + 10, 9 + 3
        ([4.0, 20.0], [10.0, 10.0], 2, 24.0),  # 4 + 10 + 10, 20
        ([4.0], [], 2, 4.0),
        ([4.0], [None], 1, None),
        ([None], [], 1, None),
    ],
)
def test_what_is_left_of_all(active, waiting, jobs, left):
    assert seconds_left_of_all(active, waiting, jobs) == left


def test_a_log_tells_the_last_update_and_the_score_that_steers(tmp_path):
    lines = [
        {"event": "update", "update": 25, "seconds": 3.0, "core_seconds": 5.0, "loss": 2.0},
        {"event": "validation", "update": 25, "seconds": 4.0, "core_seconds": 6.0, "bleu": 21.304, "loss": 1.0},
        {"event": "validation", "update": 26, "seconds": 4.0, "core_seconds": 6.0, "bleu": None, "loss": 1.0},
        {"event": "update", "update": 50, "seconds": 7.5, "core_seconds": 9.5, "loss": 1.5},
    ]
    log, text = tmp_path / "metrics.jsonl", "".join(json.dumps(line) + "\n" for line in lines)
    assert position_of(tmp_path) == TrainingPosition()
    for written in (text, "half a line\n" * 5000 + text + '{"event": "upd', "[]\n3\n{}\n" + text):
        log.write_text(written)
        assert events(tmp_path) == lines
        assert position_of(tmp_path, "bleu")[:2] == (50, (7.5, 9.5))
        assert [position_of(tmp_path, name).score for name in ("bleu", "loss", "chrf")] == [
            "bleu 21.30",
            "loss 1.00",
            "",
        ]


def test_what_a_run_ended_with(tmp_path):
    assert final_score(tmp_path) == ""
    (tmp_path / "final.json").write_text('{"metric": "bleu", "score": null}')
    assert final_score(tmp_path) == ""
    (tmp_path / "final.json").write_text('{"metric": "bleu", "score": 31.2}')
    assert final_score(tmp_path) == ", dev bleu 31.20"


def planned(folder, name, metric="bleu", **limits):
    """A run as far as a watch hears of it."""
    training = SimpleNamespace(metric=metric)
    whole = {**NO_LIMITS, **limits}
    contender = SimpleNamespace(experiment=SimpleNamespace(training=training))
    return SimpleNamespace(name=name, path=folder / name, contender=contender, limits=lambda: whole)


def watched(waiting, jobs, ended=(), *, terminal=False):
    watch = Watch(waiting, jobs, ended)
    watch.console = Console(file=io.StringIO(), force_terminal=terminal, width=300, markup=False, highlight=False)
    return watch


@pytest.fixture
def at_once(monkeypatch):
    for name in ("REDRAW_SECONDS", "LINE_SECONDS"):
        monkeypatch.setattr(compare_progress, name, 0.0)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("terminal", "end"), [(True, "\r"), (False, "\n")])
def test_a_line_tells_which_of_how_many_and_how_long(terminal, end, tmp_path):
    limits = {"max_updates": 1000, "max_minutes": 10.0}
    ended = [planned(tmp_path, f"[a]-seed{seed}", **limits) for seed in range(1, 5)]
    for run in ended:
        log(run.path, (1, 600.0, 0.0))
    runs = [planned(tmp_path, f"[b]-seed{seed}", **limits) for seed in range(1, 33)]
    watch = watched(runs, 2, ended, terminal=terminal)
    for run in runs[:2]:
        watch.begin(run)
    log(runs[0].path, (250, 120.0, 60.0))
    watch.draw()
    assert watch.console.file.getvalue() == (
        "run 5 of 36, [b]-seed1: update 250 of 1,000, 6 min left · run 6 of 36, [b]-seed2: preparing"
        f" · all trained in about 2 h 40 min{end}"  # 6 or 10 minutes, and then 15 times the 10 of those that ended
    )
    watch.stop(runs[0], "saved")
    assert "run 5 of 36, [b]-seed1: saved" in watch.console.file.getvalue()


@pytest.mark.usefixtures("at_once")
def test_a_line_without_news_is_not_repeated(tmp_path):
    run = planned(tmp_path, "a")
    watch = watched([run], 1)
    watch.begin(run)
    for _ in range(2):
        watch.draw()
    assert watch.console.file.getvalue() == "run 1 of 1, a: preparing\n"


@pytest.mark.usefixtures("at_once")
def test_the_score_told_is_the_one_that_steers(tmp_path):
    run = planned(tmp_path, "a", metric="perplexity")
    watch = watched([run], 1)
    run.path.mkdir()
    event = {"event": "validation", "update": 3, "seconds": 4.0, "loss": 1.0, "perplexity": 2.5, "bleu": 9.0}
    (run.path / "metrics.jsonl").write_text(json.dumps(event) + "\n")
    watch.begin(run)
    watch.draw()
    assert watch.console.file.getvalue() == "run 1 of 1, a: update 3, perplexity 2.50\n"


def left(watch):
    """What the last line says of all."""
    return watch.console.file.getvalue().splitlines()[-1].partition("all trained in about ")[2]


@pytest.mark.usefixtures("at_once")
def test_after_a_halt_and_a_resumption_what_is_left_is_what_the_processor_needs(tmp_path):
    """Twelve runs of 20 core minutes, two at a time: two are at 19, after 100 minutes on the wall with a halt in them.
    Then they end, a minute later; in the next call they have ended before.
    """
    twelve = [planned(tmp_path, name, max_core_minutes=20) for name in "abcdefghijkl"]
    runs = twelve[:2]
    watch = watched(twelve, 2)
    for run in runs:
        log(run.path, *((10 * n, 12.0 * n + (n > 20) * 5000, 12.0 * n) for n in range(1, 96)))
        watch.begin(run)
    watch.draw()
    assert left(watch) == "1 h 41 min"
    for run in runs:
        log(run.path, *((10 * n, 12.0 * n + 5000, 12.0 * n) for n in range(96, 101)))
        watch.end(run)
    assert left(watch) == "1 h 40 min"
    again = watched(twelve[2:], 2, runs)
    again.begin(twelve[2])
    again.draw()
    assert left(again) == "1 h 40 min"


@pytest.mark.usefixtures("at_once")
def test_runs_that_an_earlier_call_trained_for_half_the_time_take_the_other_half(tmp_path):
    """Twelve runs, two at a time, had 20 core minutes each and have 40 now: twice six times 20 minutes."""
    runs = [planned(tmp_path, name, max_core_minutes=40) for name in "abcdefghijkl"]
    for run in runs:
        log(run.path, *((10 * n, 12.0 * n, 12.0 * n) for n in range(1, 101)))
    watch = watched(runs, 2)
    for run in runs[:2]:
        watch.begin(run)
    watch.draw()
    assert left(watch) == "2 h 0 min"
