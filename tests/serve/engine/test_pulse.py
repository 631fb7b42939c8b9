"""When a model's process counts as hanging."""

import pytest

from regard.serve.engine.capacity import BEAT, Limits
from regard.serve.engine.messages import Beat
from regard.serve.engine.pipe import Pulse

LIMITS = Limits(silent_after=2.0, idle_after=5.0, stuck_after=20.0)


def beats(said, count, *, begun=False):
    """The fault after so many beats, of each of which `said` tells what was heard; and after how many seconds."""
    pulse = Pulse(LIMITS)
    if begun:
        pulse.begin()
    for beat in range(count):
        heard = said(beat)
        if heard is not None:
            pulse.hear(Beat(**heard))
        if fault := pulse.fault():
            return fault, beat * BEAT
    return None


def test_one_that_is_loading_has_no_pulse_yet():
    assert beats(lambda beat: None, 1000) is None


def test_one_that_has_loaded_and_says_nothing_is_noticed():
    fault, seconds = beats(lambda beat: None, 1000, begun=True)
    assert fault == "no sign of life for 2 seconds"
    assert seconds == pytest.approx(2.0)


def test_one_that_falls_silent_is_noticed():
    fault, seconds = beats(lambda beat: {"steps": {}, "cpu": 0.0} if beat < 10 else None, 1000)
    assert fault == "no sign of life for 2 seconds"
    assert seconds == pytest.approx(9 * BEAT + 2.0)  # since the last one


def test_one_without_work_may_do_nothing():
    assert beats(lambda beat: {"steps": {}, "cpu": 1.0}, 1000) is None


def test_a_long_batch_that_goes_on_is_well():
    """Seen by its steps, even if they hardly use the processor."""
    assert beats(lambda beat: {"steps": {"a": beat // 8}, "cpu": 1.0}, 10_000) is None


def test_a_long_step_is_well_as_long_as_it_works():
    """Up to where it can only be a loop."""
    fault, seconds = beats(lambda beat: {"steps": {"a": 7}, "cpu": beat * BEAT}, 1000)
    assert fault == "a batch that does not go on for 20 seconds"
    assert seconds == pytest.approx(20.0)


def test_a_batch_that_only_waits_hangs():
    fault, seconds = beats(lambda beat: {"steps": {"a": 7}, "cpu": 1.0}, 1000)
    assert fault == "a batch that neither goes on nor works for 5 seconds"
    assert seconds == pytest.approx(5.0, abs=BEAT)


def test_another_batch_that_goes_on_hides_it_only_for_a_while():
    fault, seconds = beats(lambda beat: {"steps": {"a": 7, "b": beat}, "cpu": 1.0}, 1000)
    assert fault == "a batch that does not go on for 20 seconds"
    assert seconds == pytest.approx(20.0)


def test_new_batches_count_from_their_own_beginning():
    assert beats(lambda beat: {"steps": {str(beat // 8): 1}, "cpu": 1.0}, 1000) is None
