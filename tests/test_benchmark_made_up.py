"""What the benchmark of made-up problems counts, by hand."""

import pytest

from benchmarks import benchmark
from regard.results import Explanation, Prediction

made_up = benchmark("made_up")

GRID = "1 0; 0 1; 1 1; 0 0"  # the second and the third cell are marked
WORDS = ["▁red", "▁circle", "▁and", "▁blue", "▁star", "</s>"]


@pytest.mark.parametrize(
    ("text", "finished", "right"),
    [("b b", True, True), ("b b", False, False), ("b", True, False), ("b b b", True, False), ("b a", True, False)],
)
def test_a_count_is_right_when_it_ends_in_time(text, finished, right):
    assert made_up.counts(Prediction("a a a b", text, 0.0, finished=finished), 3) is right


def test_one_a_has_nothing_behind_its_b():
    assert made_up.counts(Prediction("a b", "", 0.0), 1)


@pytest.mark.parametrize(
    ("cells", "right"),
    [
        ([1, 1, 0, 2, 2], [True, True, True, True]),
        ([1, 0, 1, 2, 1], [True, False, True, False]),
        ([2, 2, 2, 1, 1], [False, False, False, False]),
    ],
)
def test_words_looked_at_the_cell_they_name(cells, right):
    alignment = [(cell, word) for word, cell in enumerate(cells)]
    assert made_up.looked_right(Explanation.of_text([], WORDS, alignment, []), GRID) == right
