"""How much goes into a batch follows how long batches take."""

import pytest

from regard.serve.engine.capacity import Limits
from regard.serve.engine.lanes import LEAST_BATCH, Pace
from regard.serve.engine.questions import Predict

KIND = Predict(())


@pytest.fixture
def pace():
    found = Pace(Limits(max_batch_tokens=20_000, max_batch_seconds=0.5))
    found.warmed(4000.0)
    return found


def test_the_first_batch_is_as_large_as_the_warm_up_says(pace):
    assert pace.budget(KIND) == 4000 * 0.5
    assert pace.budget(Predict((), n_best=4)) == 1000


@pytest.mark.parametrize("speed", [500.0, 2000.0, 6000.0, 15_000.0])
def test_batches_come_to_take_as_long_as_they_may(pace, speed):
    for _ in range(100):
        size = pace.budget(KIND)
        pace.note(KIND, 10, int(size), size / speed, full=True)
    assert pace.budget(KIND) == pytest.approx(speed * 0.5, rel=0.01) or pace.budget(KIND) == LEAST_BATCH


def test_never_beyond_the_budget_nor_below_what_a_call_is_worth(pace):
    for seconds, limit in ((1e-6, 20_000), (1e6, LEAST_BATCH)):
        for _ in range(100):
            pace.note(KIND, 1, int(pace.budget(KIND)), seconds, full=True)
        assert pace.budget(KIND) == pytest.approx(limit, rel=0.01)


def test_small_batches_say_nothing_of_what_large_ones_would_take(pace):
    before = pace.budget(KIND)
    for _ in range(100):
        pace.note(KIND, 1, 10, 0.1, full=False)
    assert pace.budget(KIND) == before


def test_when_to_ask_again(pace):
    assert pace.seconds_for(0) == 1
    for _ in range(100):
        pace.note(KIND, 10, 100, 1.0, full=False)
    assert (pace.seconds_for(5), pace.seconds_for(95), pace.seconds_for(10**6)) == (1, 10, 60)
