"""Schedules: each formula by hand."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from regard.registry import Choice
from regard.training.schedules import SCHEDULES

FALLS = {"linear": {"updates": 100}, "cosine": {"updates": 100}, "exponential": {"updates": 100}}
NEEDS = {"delayed": {"updates": 3}, "step_decay": {"every": 30}, **FALLS}


def build(name, peak=2.0, **settings):
    return SCHEDULES.build(Choice(name, {**NEEDS.get(name, {}), **settings}), peak)


def values(schedule, *updates):
    return [schedule.value(update) for update in updates]


def test_constant_rises_in_a_line_and_stays():
    assert values(build("constant", warmup=4), 1, 2, 4, 5, 1000) == [0.5, 1.0, 2.0, 2.0, 2.0]
    assert values(build("constant"), 1, 2) == [2.0, 2.0]


def test_inverse_sqrt_peaks_at_the_end_of_its_warmup():
    schedule = build("inverse_sqrt", warmup=4)
    assert values(schedule, 1, 2, 4, 16, 64) == approx([0.5, 1.0, 2.0, 1.0, 0.5], rel=1e-15)


def test_delayed_is_a_step():
    assert values(build("delayed", updates=3), 1, 3, 4, 1000) == [0.0, 0.0, 2.0, 2.0]
    assert values(build("delayed", updates=0), 1) == [2.0]


def test_exponential_is_a_temperature_that_falls_to_a_tenth():
    schedule = build("exponential", peak=1.0, updates=round(200 * math.log(10)))
    wanted = [max(0.1, math.exp(-update / 200)) for update in (1, 100, 200, 461, 10_000)]
    assert values(schedule, 1, 100, 200, 461, 10_000) == approx(wanted, rel=1e-2)
    assert values(build("exponential", warmup=10, floor=0.25), 5, 10, 55, 100) == approx([1.0, 2.0, 1.0, 0.5])


def test_noam_is_its_equation():
    schedule = build("noam", peak=1.0, dim=512, warmup=4000)
    for update in (1, 17, 3999, 4000, 4001, 100_000):
        wanted = 1 / math.sqrt(512) * min(1 / math.sqrt(update), update / (4000 * math.sqrt(4000)))
        assert schedule.value(update) == approx(wanted, rel=1e-14)
    assert max(range(1, 9000), key=schedule.value) == 4000


def test_inverse_sqrt_is_noam_named_by_its_peak():
    noam = build("noam", peak=1.0, dim=64, warmup=30)
    by_peak = build("inverse_sqrt", peak=noam.value(30), warmup=30)
    updates = range(1, 200)
    assert values(by_peak, *updates) == approx(values(noam, *updates), rel=1e-13)


def test_linear_falls_in_a_line_to_its_floor():
    schedule = build("linear", updates=110, warmup=10, floor=0.5)
    assert values(schedule, 5, 10, 60, 110, 5000) == approx([1.0, 2.0, 1.5, 1.0, 1.0], rel=1e-15)
    assert build("linear", updates=100).value(100) == 0.0


def test_cosine_falls_as_half_a_cosine_to_its_floor():
    schedule = build("cosine", updates=110, warmup=10, floor=0.5)
    assert values(schedule, 5, 10, 60, 110, 5000) == approx([1.0, 2.0, 1.5, 1.0, 1.0], rel=1e-15)
    third = 10 + 100 / 3  # the cosine of 60 degrees is one half
    assert build("cosine", updates=310, warmup=10).value(110) == approx(2 * (1 + math.cos(math.pi / 3)) / 2, rel=1e-15)
    assert schedule.value(round(third)) > 1.5


def told(schedule, *scores, higher=True):
    found = []
    for score in scores:
        schedule.observe(score, higher)
        found.append(schedule.value(1000))
    return found


def test_plateau_waits_and_starts_to_wait_again():
    assert told(build("plateau", patience=2), 1, 2, 2, 1, 1, 3, 2, 2.5) == [2, 2, 2, 1, 1, 1, 1, 0.5]


def test_plateau_of_a_score_that_should_fall():
    assert told(build("plateau", patience=1, factor=0.1), 5, 4, 4.5, higher=False) == approx([2, 2, 0.2])


def test_plateau_ends_training_below_a_rate():
    """0.25, 0.025 … by tenths: the fourth shrinking goes below 1e-4."""
    schedule = build("plateau", peak=0.25, patience=1, factor=0.1, stop=1e-4)
    assert schedule.ended == ""
    schedule.observe(1.0, True)
    for _ in range(3):
        schedule.observe(1.0, True)
        assert schedule.ended == ""
    schedule.observe(1.0, True)
    assert schedule.ended == "the learning rate has fallen below 0.0001"
    again = build("plateau", peak=0.25, patience=1, factor=0.1, stop=1e-4)
    again.restore(schedule.state())
    assert again.ended == schedule.ended


def test_a_low_rate_of_a_warmup_ends_nothing():
    schedule = build("plateau", peak=0.25, warmup=10_000, stop=1e-4)
    assert (schedule.value(1) < 1e-4, schedule.ended) == (True, "")


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_no_schedule_ends_training_unasked(name):
    schedule = build(name)
    for _ in range(99):
        schedule.observe(1.0, True)
    assert schedule.ended == ""


def test_step_decay_is_the_staircase_of_the_tutorial():
    """lr · 0.5^floor((step - 8000) / 1000) from step 8000 on, where steps count from 0."""
    schedule = build("step_decay", peak=1.0, after=8000, every=1000)
    for step in range(0, 12_000, 50):
        assert schedule.value(step + 1) == (1.0 if step < 8000 else 0.5 ** ((step - 8000) // 1000))
    assert values(schedule, 9000, 9001, 12_000) == [1.0, 0.5, 0.125]


def test_step_decay_by_torch():
    schedule = build("step_decay", peak=2.0, every=7, factor=0.1)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
    oracle = torch.optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
    for update in range(1, 40):
        assert schedule.value(update) == approx(optimizer.param_groups[0]["lr"], rel=1e-12)
        optimizer.step()
        oracle.step()


def test_plateau_rises_to_what_it_has_been_lowered_to():
    schedule = build("plateau", patience=1, warmup=10)
    told(schedule, 1, 0)
    assert values(schedule, 5, 10) == [0.5, 1.0]


@pytest.mark.parametrize("higher", [True, False])
def test_plateau_takes_what_is_no_number_for_no_progress(higher):
    better = 2.0 if higher else 0.5
    assert told(build("plateau", patience=2), math.nan, 1, better, math.nan, math.nan, higher=higher) == [2, 2, 2, 2, 1]


@pytest.mark.parametrize("name", sorted({*SCHEDULES} - {"delayed"}))
def test_a_shortened_rise_reaches_the_peak_and_leaves_the_rest(name):
    whole, short = (build(name, warmup=20) for _ in range(2))
    peak = whole.value(20)
    short.shorten_rise(5)
    assert values(short, 1, 4, 5, 12, 20) == approx([0.2 * peak, 0.8 * peak, peak, peak, peak])
    assert values(short, 21, 50, 99) == values(whole, 21, 50, 99)
    short.shorten_rise(50)
    assert values(short, *range(1, 40)) == values(whole, *range(1, 40))


@pytest.mark.parametrize("name", SCHEDULES)
def test_state_and_restore_go_on_as_if_unbroken(name):
    scores = [3, 1, 2, 5, 4, 4, 4, 1, 1, 1]
    for cut in range(len(scores)):
        whole, first, second = build(name), build(name), build(name)
        told(whole, *scores)
        told(first, *scores[:cut])
        second.restore(first.state())
        told(second, *scores[cut:])
        assert values(second, 1, 50, 99) == values(whole, 1, 50, 99)
        assert second.state() == whole.state()


@given(
    st.sampled_from(sorted(SCHEDULES)),
    st.floats(0, 10),
    st.integers(1, 10**7),
    st.integers(0, 2000),
    st.lists(st.floats(-9, 9) | st.just(math.nan), max_size=9),
)
def test_a_rate_is_never_negative_and_never_above_its_peak(name, peak, update, warmup, scores):
    schedule = build(name, peak, **{"updates" if name == "delayed" else "warmup": warmup})
    told(schedule, *scores)
    assert 0 <= schedule.value(update) <= peak * (1 + 1e-15)
