"""The log, and what a person sees of it."""

import io
import json
import math

import pytest
from rich.console import Console

from regard.training import progress as module
from regard.training.clock import ClockTime
from regard.training.progress import LogWindow, Progress, remaining
from regard.training.updater import TurnStep, Updated

VALUES = {"update": 1200, "epoch": 3, "loss": 2.5, "tokens_per_second": 4321.0, "learning_rate": 0.001}


@pytest.fixture
def progress(tmp_path):
    return Progress(tmp_path, quiet=True)


def test_each_event_is_a_line_of_json(progress, lines):
    progress.update(VALUES, "")
    progress.validation({"update": 1200, "epoch": 3, "bleu": 12.5}, True)
    kept = {name: value for name, value in VALUES.items() if name != "tokens_per_second"}
    assert lines(progress.path.parent) == [
        {"event": "update", **kept},
        {"event": "validation", "update": 1200, "epoch": 3, "bleu": 12.5, "best": True},
    ]
    assert json.loads(progress.path.read_text().splitlines()[0])["tokens_per_second"] == 4321.0


def test_what_is_no_number_is_null(progress):
    progress.validation({"update": 1, "epoch": 0, "loss": math.nan, "bleu": 0.0}, False)
    assert json.loads(progress.path.read_text(), parse_constant=pytest.fail)["loss"] is None


def test_signs_in_a_name_are_no_markup(tmp_path, capfd):
    progress = Progress(tmp_path)
    progress.say("run runs/[red]/[/x] :smile:")
    progress.warn("[bold]")
    assert capfd.readouterr().err == "run runs/[red]/[/x] :smile:\nwarning: [bold]\n"


def test_a_resumed_log_is_cut_so_that_no_line_stands_twice(progress, lines, tmp_path):
    for update in (1, 2):
        progress.update({**VALUES, "update": update}, "")
    position = progress.position()
    progress.update({**VALUES, "update": 3}, "")
    with progress.path.open("a") as file:
        file.write('{"event": "upd')  # killed while it wrote
    again = Progress(tmp_path, quiet=True)
    again.cut(position)
    for update in (3, 4):
        again.update({**VALUES, "update": update}, "")
    assert [line["update"] for line in lines(tmp_path)] == [1, 2, 3, 4]


def test_a_log_that_is_shorter_or_gone_is_left_alone(progress):
    progress.cut(100)
    assert not progress.path.exists()
    assert progress.position() == 0
    progress.update(VALUES, "")
    size = progress.position()
    progress.cut(size + 1)
    assert progress.position() == size == progress.path.stat().st_size


def test_without_a_terminal_a_person_sees_a_line_now_and_then(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(module, "FIRST_SECONDS", 0.0)
    progress = Progress(tmp_path)
    for _ in range(5):
        progress.update(VALUES, " · 3 s left")
    progress.validation({"update": 1200, "epoch": 3, "seconds": 1.0, "bleu": 12.5, "loss": 2.0}, True)
    assert capfd.readouterr().err.splitlines() == [
        "update 1,200 · epoch 3 · train loss 2.500 · 4,321 tokens/s · learning rate 1.00e-03 · 3 s left",
        "update 1,200 · dev bleu 12.50 · dev loss 2.00 · best so far",
        "train loss is above dev loss: it includes dropout and label smoothing, dev loss does not",
    ]
    progress.update(VALUES, "")
    progress.validation({"update": 1300, "loss": 2.0}, False)
    assert "dropout" not in capfd.readouterr().err  # it is explained once


def test_quiet_is_quiet_but_for_warnings(progress, capfd):
    progress.update(VALUES, "")
    progress.validation({"update": 1200, "bleu": 12.5}, False)
    progress.say("all is well")
    progress.warn("careful")
    out, err = capfd.readouterr()
    assert (out, err) == ("", "warning: careful\n")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.0, "━" * 16 + " 100 % · 0 s left"), (89.4, "89 s left"), (90.0, "━━━━━━━━──────── 50 % · 2 min left"),
     (3600.0, "─" * 16 + " 2 % · 60 min left")],
)  # fmt: skip
def test_what_is_left(seconds, told):
    assert remaining(seconds, 90.0).startswith(" · ")
    assert remaining(seconds, 90.0).endswith(told)


def test_without_a_limit_nothing_is_left_to_tell():
    assert remaining(None, 90.0) == ""


def test_the_first_line_comes_after_five_seconds(tmp_path, monkeypatch, capfd):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    progress, due = Progress(tmp_path), []
    for now[0] in (1.0, 4.9, 5.0, 6.0, 19.9, 20.0):
        due.append(progress.due)
        if progress.due:
            progress.show(VALUES, "")
    assert due == [False, False, True, False, False, True]
    assert len(capfd.readouterr().err.splitlines()) == 2


def test_on_a_terminal_nothing_stays_of_the_line_before(tmp_path):
    progress = Progress(tmp_path)
    progress.console = Console(file=io.StringIO(), force_terminal=True, width=200)
    progress.update(VALUES, " · 3 min left")
    progress.say("better")
    shown = progress.console.file.getvalue()
    assert shown.index("\x1b[2K") < shown.index("better")


def updated(tokens: int, loss: float, **parts: float) -> Updated:
    return Updated(tokens, {"model": TurnStep(loss, 2.0, 0.1, parts)})


def test_speeds_are_told_by_both_clocks():
    window = LogWindow()
    window.add(updated(300, 2.0), ClockTime(4.0, 1.0))  # three quarters of the time went to others
    window.add(updated(100, 4.0), ClockTime(1.0, 1.0))
    values = window.values()
    assert (values["tokens_per_second"], values["tokens_per_core_second"]) == (80.0, 200.0)
    assert (values["loss"], values["norm"]) == (2.5, 2.0)


def test_speeds_go_by_what_is_read_and_losses_by_what_is_counted():
    window = LogWindow()
    window.add(Updated(3, {"model": TurnStep(2.0, 2.0, 0.1)}, read=300), ClockTime(2.0, 1.0))
    window.add(Updated(1, {"model": TurnStep(4.0, 2.0, 0.1)}, read=500), ClockTime(2.0, 1.0))
    values = window.values()
    assert (values["tokens_per_second"], values["tokens_per_core_second"], values["loss"]) == (200.0, 400.0, 2.5)


def test_a_saved_window_goes_on():
    window = LogWindow()
    window.add(updated(100, 2.0, overlap=1.0), ClockTime(2.0, 1.0))
    again = LogWindow()
    again.restore(json.loads(json.dumps(window.state())))
    for one in (window, again):
        one.add(updated(100, 1.0, overlap=2.0), ClockTime(2.0, 2.0))
    assert again == window


def test_turns_are_told_apart_and_averaged_where_they_were_taken():
    window = LogWindow()
    window.add(Updated(100, {"critic": TurnStep(1.0, 3.0, 0.5)}), ClockTime(1.0, 1.0))
    window.add(Updated(300, {"critic": TurnStep(2.0, 5.0, 0.4), "model": TurnStep(7.0, 2.0, 0.1)}), ClockTime(1.0, 1.0))
    values = window.values()
    assert (values["loss"], values["norm"], values["learning_rate"]) == (7.0, 2.0, 0.1)
    assert (values["critic.loss"], values["critic.norm"], values["critic.learning_rate"]) == (1.75, 4.0, 0.4)
