"""What questions cost, in pieces."""

import pytest

from regard.predictor.terminology import MOST_OF_ALL
from regard.serve.engine.cost import MAX_PREFIX, cost
from regard.serve.engine.lanes import lane_of
from regard.serve.engine.options import Options


@pytest.mark.parametrize(
    ("options", "more", "pieces"),
    [
        (Options(), {}, 12),
        (Options(n_best=4), {}, 12),
        (Options(n_best=10), {}, 36),
        (Options(), {"prefix": 990}, 1002),
        (Options(n_best=10), {"prefix": 990}, 3006),
        (Options(), {"terms": [3, 5]}, 40),
        (Options(maps=True), {}, 24),
    ],
)
def test_a_text_to_predict(options, more, pieces):
    assert cost(options, [12], **more, given=False) == pieces


def test_a_given_target():
    assert cost(Options(explain=True), [12, 20], given=True) == 20
    assert cost(Options(explain=True, by="lrp", reasons=("saliency",)), [12, 20], given=True) == 32 * 9
    assert cost(Options(explain=True, steps=True), [12, 20], given=True) == 32 * 5
    assert cost(Options(n_best=5, word=1), [12, 20], given=True) == 160


def test_what_a_short_text_has_to_keep_chooses_its_lane():
    assert [lane_of(cost(Options(), [3], prefix=prefix, given=False)) for prefix in (0, 100, 990)] == [0, 1, 2]


def test_a_prefix_that_is_counted_is_one_that_is_kept():
    assert MAX_PREFIX == MOST_OF_ALL
