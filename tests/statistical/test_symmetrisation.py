"""Two alignments made into one, by hand."""

import pytest

from regard.statistical.symmetrisation import SYMMETRISATIONS

# rows are sources, columns targets; F forward alone, R reverse alone, B both
#      0 1 2 3 4
#   0  B F . . .
#   1  . R . . .
#   2  . . . F .
#   3  . R . . R
FORWARD = [(0, 0), (0, 1), (2, 3)]
REVERSE = [(0, 0), (1, 1), (3, 1), (3, 4)]


@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        ("forward", FORWARD),
        ("reverse", REVERSE),
        ("intersection", [(0, 0)]),
        ("union", [(0, 0), (0, 1), (1, 1), (2, 3), (3, 1), (3, 4)]),
        ("grow-diag", [(0, 0), (0, 1), (1, 1)]),  # 0-1 is beside 0-0 and gives target 1 a link, 1-1 gives source 1 one
        ("grow-diag-final", [(0, 0), (0, 1), (1, 1), (2, 3), (3, 1), (3, 4)]),  # 3-1: source 3 is new, 3-4: target 4
        ("grow-diag-final-and", [(0, 0), (0, 1), (1, 1), (2, 3), (3, 4)]),  # at 3-1 target 1 has links
    ],
)
def test_by_hand(method, wanted):
    assert SYMMETRISATIONS[method](FORWARD, REVERSE) == wanted


@pytest.mark.parametrize("method", SYMMETRISATIONS)
def test_equal_alignments_stay_and_none_stays_none(method):
    assert SYMMETRISATIONS[method](FORWARD, FORWARD) == FORWARD
    assert SYMMETRISATIONS[method]([], []) == []


def test_nothing_grows_where_both_words_are_linked():
    assert SYMMETRISATIONS["grow-diag"]([(0, 0), (1, 1), (0, 1)], [(0, 0), (1, 1)]) == [(0, 0), (1, 1)]
