"""Lanes share the cores by time, a step each."""

import threading
import time

import pytest

from regard.serve.engine.core_scheduler import CoreScheduler, CoreTime

STEP = 0.002


def run_beside(scheduler, lane, steps, seconds, done, end=None):
    """A thread that makes steps of so long, or until an event, and notes how many others made meanwhile."""

    def work():
        core_time, before = CoreTime(scheduler, lane), list(done)
        with core_time:
            for _ in range(steps):
                if end is not None and end.is_set():
                    break
                time.sleep(seconds)
                done[lane] += 1
                core_time.give_way()
        seen.append((lane, [after - one for after, one in zip(done, before, strict=True)], core_time.seconds))

    seen = []
    thread = threading.Thread(target=work)
    thread.start()
    return thread, seen


def steps_meanwhile(shares, long_steps, long_seconds, short_steps):
    """The steps that a long batch of the second lane makes while one of the first lane makes its short ones."""
    scheduler, done = CoreScheduler(1, shares), [0, 0]
    long, _ = run_beside(scheduler, 1, long_steps, long_seconds, done)
    while not done[1]:
        time.sleep(STEP / 10)
    short, seen = run_beside(scheduler, 0, short_steps, STEP, done)
    short.join()
    found = seen[0][1][1]
    long.join()
    return found


def test_a_short_batch_beside_a_long_one_takes_about_twice_its_time():
    assert steps_meanwhile([1.0, 1.0], 200, STEP, 20) < 60  # of the 200, of which 20 would be fair


def test_time_is_shared_and_not_the_number_of_steps():
    """Steps of the one are eight times as long: of the other there are more."""
    assert steps_meanwhile([1.0, 1.0], 30, 8 * STEP, 40) <= 12


def test_shares_divide_the_time():
    """Of three parts the one lane has two."""
    assert 15 <= steps_meanwhile([4.0, 2.0], 200, STEP, 60) <= 45


def test_neither_lane_starves():
    """Short batches one after the other: the long one gets its half."""
    scheduler, done = CoreScheduler(1, [1.0, 1.0]), [0, 0]
    long, seen = run_beside(scheduler, 1, 50, STEP, done)
    while not seen:
        run_beside(scheduler, 0, 5, STEP, done)[0].join()
    long.join()
    assert done[0] < 200


def test_who_had_nothing_to_do_is_owed_nothing():
    scheduler, done = CoreScheduler(1, [1.0, 1.0]), [0, 0]
    run_beside(scheduler, 1, 50, STEP, done)[0].join()
    end = threading.Event()
    short, _ = run_beside(scheduler, 0, 10**6, STEP, done, end)
    while not done[0]:
        time.sleep(STEP / 10)
    long, seen = run_beside(scheduler, 1, 10, STEP, done)
    long.join()
    end.set()
    short.join()
    assert seen[0][1][0] < 45  # it would have made 50 before the other one had a turn


def test_as_many_at_a_time_as_cores():
    scheduler, most, now, lock = CoreScheduler(2, [1.0, 1.0]), [], [0], threading.Lock()

    def work(lane):
        with CoreTime(scheduler, lane) as core_time:
            for _ in range(10):
                with lock:
                    now[0] += 1
                    most.append(now[0])
                time.sleep(STEP / 4)
                with lock:
                    now[0] -= 1
                core_time.give_way()

    threads = [threading.Thread(target=work, args=(number % 2,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 2


def test_a_batch_that_fails_gives_its_core_back():
    """One that did not would leave the next one waiting for ever."""
    scheduler, begun = CoreScheduler(1, [1.0, 1.0]), []
    for lane in (0, 1, 0):
        with pytest.raises(ValueError, match="failed"), CoreTime(scheduler, lane):
            begun.append(lane)
            raise ValueError("failed")
    assert begun == [0, 1, 0]


def test_seconds_are_those_with_a_core():
    """What the other lane had meanwhile is not among them."""
    scheduler, done = CoreScheduler(1, [1.0, 1.0]), [0, 0]
    long, first = run_beside(scheduler, 1, 40, STEP, done)
    short, second = run_beside(scheduler, 0, 40, STEP, done)
    began = time.perf_counter()
    long.join()
    short.join()
    passed = time.perf_counter() - began
    assert first[0][2] + second[0][2] < 1.3 * passed + 4 * STEP
