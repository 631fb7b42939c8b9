"""Ctrl-C and SIGTERM."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from regard.training.interrupt import SIGNALS, listening_to_signals

CHILD = """
import time
from regard.training.interrupt import listening_to_signals

with listening_to_signals() as interruption:
    print("listens", flush=True)
    while not interruption():
        time.sleep(0.002)
    print("heard", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def child():
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "listens\n"
        yield process
        process.kill()


@pytest.mark.parametrize("second", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("first", SIGNALS, ids=lambda number: number.name)
def test_the_first_asks_and_the_second_ends_at_once(child, first, second):
    child.send_signal(first)
    assert child.stdout.readline() == "heard\n"
    assert child.poll() is None
    child.send_signal(second)
    assert child.wait(timeout=30) == -second


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_what_listened_before_listens_again(number):
    heard = []
    before = signal.signal(number, lambda *_: heard.append(number))
    try:
        with listening_to_signals() as interruption:
            assert not interruption()
            os.kill(os.getpid(), number)
            assert interruption()
        assert heard == []
        os.kill(os.getpid(), number)
        assert heard == [number]
    finally:
        signal.signal(number, before)


def test_a_fault_inside_leaves_the_handlers_as_they_were():
    before = [signal.getsignal(number) for number in SIGNALS]
    with pytest.raises(ZeroDivisionError), listening_to_signals():
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_another_thread_hears_none_and_touches_no_handler():
    before, found = [signal.getsignal(number) for number in SIGNALS], []

    def work():
        with listening_to_signals() as interruption:
            found.append(interruption())
            found.append([signal.getsignal(number) for number in SIGNALS] == before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False, True]


def test_a_person_is_answered_at_once(child):
    child.send_signal(signal.SIGINT)
    assert "stopping after this update" in child.stderr.readline() + child.stderr.readline()
