"""Repetition loops of ids that a search has written."""

from collections.abc import Sequence

_PIECES, _TIMES = 8, 4  # maximum pieces of a loop, and minimum number of its rounds
_ALL_PIECES = 8  # minimum pieces of all its rounds together
LOOPED = "the model repeated itself, and the repetition was cut off"  # the warning of a text
_AGAIN = 6  # minimum repeated pieces of a loop: two pieces in four rounds


def loop_of(ids: Sequence[int]) -> int | None:
    """Return the start of the second round of the first loop; None without a loop."""
    if len(ids) - len({*ids}) < _AGAIN:
        return None
    for start in range(len(ids) - _ALL_PIECES + 1):
        for length in range(1, min(_PIECES, (len(ids) - start) // _TIMES) + 1):
            end = start + length
            while end < len(ids) and ids[end] == ids[end - length]:
                end += 1
            if end - start >= max(_ALL_PIECES, _TIMES * length):
                return start + length
    return None
