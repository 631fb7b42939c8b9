"""Ctrl-C and SIGTERM: the first asks for an end at the next update, the second ends at once."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

STOPPING = b"\nstopping after this update, to save it; once more ends at once\n"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(Exception):
    """Training was asked to end; it has saved, and can be resumed."""


class Interruption:
    """The request for an end, if somebody made one."""

    def __init__(self) -> None:
        self.wanted = False

    def __call__(self) -> bool:
        return self.wanted


@contextmanager
def listening_to_signals(interruption: Interruption | None = None) -> Iterator[Interruption]:
    """Listen while inside; in a thread other than the main one, where Python allows no handler, it never hears any."""
    interruption = interruption or Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def hear(number: int, frame: FrameType | None) -> None:
        interruption.wanted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with suppress(OSError):  # whoever read our stderr may be gone
            os.write(2, STOPPING)  # print may not be called in the middle of a print

    for number in SIGNALS:
        signal.signal(number, hear)
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
