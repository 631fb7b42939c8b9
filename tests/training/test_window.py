"""What a line of the log tells of the updates since the line before."""

import json
from dataclasses import asdict

from regard.training.clock import Spent
from regard.training.updater import Taken, Updated
from regard.training.window import Window


def done(tokens: int, loss: float, **parts: float) -> Updated:
    return Updated(tokens, {"model": Taken(loss, 2.0, 0.1, parts)})


def test_speeds_are_told_by_both_clocks():
    window = Window()
    window.add(done(300, 2.0), Spent(4.0, 1.0))  # three quarters of the time went to others
    window.add(done(100, 4.0), Spent(1.0, 1.0))
    values = window.values()
    assert (values["tokens_per_second"], values["tokens_per_core_second"]) == (80.0, 200.0)
    assert (values["loss"], values["norm"]) == (2.5, 2.0)


def test_speeds_go_by_what_is_read_and_losses_by_what_is_counted():
    window = Window()
    window.add(Updated(3, {"model": Taken(2.0, 2.0, 0.1)}, read=300), Spent(2.0, 1.0))
    window.add(Updated(1, {"model": Taken(4.0, 2.0, 0.1)}, read=500), Spent(2.0, 1.0))
    values = window.values()
    assert (values["tokens_per_second"], values["tokens_per_core_second"], values["loss"]) == (200.0, 400.0, 2.5)


def test_a_saved_window_goes_on():
    window = Window()
    window.add(done(100, 2.0, overlap=1.0), Spent(2.0, 1.0))
    again = Window.of(json.loads(json.dumps(asdict(window))))
    for one in (window, again):
        one.add(done(100, 1.0, overlap=2.0), Spent(2.0, 2.0))
    assert again == window


def test_turns_are_told_apart_and_averaged_where_they_were_taken():
    window = Window()
    window.add(Updated(100, {"critic": Taken(1.0, 3.0, 0.5)}), Spent(1.0, 1.0))
    window.add(Updated(300, {"critic": Taken(2.0, 5.0, 0.4), "model": Taken(7.0, 2.0, 0.1)}), Spent(1.0, 1.0))
    values = window.values()
    assert (values["loss"], values["norm"], values["learning_rate"]) == (7.0, 2.0, 0.1)
    assert (values["critic.loss"], values["critic.norm"], values["critic.learning_rate"]) == (1.75, 4.0, 0.4)
