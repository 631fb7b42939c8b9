"""How fast a run was trained, by its log: what a busy machine, a halt or a validation change, and what not."""

import pytest

from regard.reports.compare.speeds import by_the_clock, by_the_core, curve_of

TOKENS = 1000  # of each line


def log(lines, *, counted=True, told=False):
    """(seconds, core seconds, seconds of a validation, core seconds of it) of each line → its events."""
    events, seconds, core_seconds = [], 0.0, 0.0
    for update, (wall, core, wall_between, core_between) in enumerate(lines, start=1):
        seconds, core_seconds = seconds + wall, core_seconds + core
        clocks = {"update": update, "seconds": seconds, **({"core_seconds": core_seconds} if counted else {})}
        speeds = {"tokens_per_second": TOKENS / wall, **({"tokens_per_core_second": TOKENS / core} if told else {})}
        events.append({"event": "update", **clocks, **speeds})
        if wall_between:
            seconds, core_seconds = seconds + wall_between, core_seconds + core_between
            clocks = {**clocks, "seconds": seconds, **({"core_seconds": core_seconds} if counted else {})}
            events.append({"event": "validation", "bleu": 10.0 * update, **clocks})
    return events


ALONE = [(2.0, 2.0, 0, 0)] * 9
BUSY = [(wall, 2.0, 0, 0) for wall in (2.0, 8.0, 4.0, 6.0, 3.0, 5.0, 7.0, 9.0, 2.5)]
HALTED = [*ALONE[:3], (3500.0, 2.0, 0, 0), *ALONE[4:]]
VALIDATED = [(4.0, 2.0, 50.0, 30.0), *[(4.0, 2.0, 90.0, 11.0)] * 8]


@pytest.mark.parametrize("told", [False, True], ids=["an older log", "told by the line"])
@pytest.mark.parametrize("lines", [ALONE, BUSY, HALTED, VALIDATED], ids=["alone", "busy", "halted", "validated"])
def test_what_else_the_machine_does_does_not_make_training_slower(lines, told):
    assert by_the_core(log(lines, told=told)) == pytest.approx(TOKENS / 2.0)


def test_by_the_clock_it_does():
    assert by_the_clock(log(ALONE)) == TOKENS / 2.0
    assert by_the_clock(log(BUSY)) == TOKENS / 5.0


def test_where_processor_time_was_not_counted_nothing_is_told():
    assert by_the_core(log(ALONE, counted=False)) is None
    assert (by_the_core([]), by_the_clock([])) == (None, None)


def test_the_curve_knows_both_clocks():
    assert curve_of(log(VALIDATED[:2]), "bleu") == [(1, 54.0, 10.0, 32.0), (2, 148.0, 20.0, 45.0)]
    assert curve_of(log(VALIDATED[:1], counted=False), "bleu") == [(1, 54.0, 10.0, None)]
    assert curve_of(log(VALIDATED), "chrf") == []
