"""What a line of the log tells of the updates since the line before."""

import pytest

from regard.training.updating import Updated
from regard.training.window import Window


def done(tokens: int, loss: float, **parts: float) -> Updated:
    return Updated(loss=loss, tokens=tokens, norm=2.0, parts=parts)


def test_speeds_are_told_by_both_clocks():
    window = Window()
    window.add(done(300, 2.0), 4.0, 1.0)  # three quarters of the time went to others
    window.add(done(100, 4.0), 1.0, 1.0)
    values = window.values()
    assert (values["tokens_per_second"], values["tokens_per_core_second"]) == (80.0, 200.0)
    assert (values["loss"], values["norm"]) == (2.5, 2.0)


def test_a_window_of_a_version_that_counted_no_processor_time_can_be_gone_on_with():
    old = {"loss": 10.0, "norm": 1.0, "tokens": 100, "updates": 1, "seconds": 2.0, "parts": {}}
    window = Window.of(old)
    window.add(done(100, 1.0), 2.0, 2.0)
    assert window.values()["tokens_per_core_second"] == pytest.approx(50.0)
