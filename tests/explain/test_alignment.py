"""Links worked out by hand from small weights."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError, RegardError
from regard.explain.alignment import align, format_pharaoh, merge_weights, parse_pharaoh, word_alignment

WEIGHTS = [  # three targets, three sources; the second and third look at source 2 most
    [0.7, 0.2, 0.1],
    [0.1, 0.3, 0.6],
    [0.0, 0.2, 0.8],
]


def test_argmax_takes_the_source_each_target_looks_at_most():
    assert align(WEIGHTS) == [(0, 0), (2, 1), (2, 2)]


def test_mutual_keeps_only_those_that_choose_each_other():
    assert align(WEIGHTS, method="mutual") == [(0, 0), (2, 2)]


def test_threshold_takes_every_pair_not_below():
    assert align(WEIGHTS, method="threshold", threshold=0.3) == [(0, 0), (1, 1), (2, 1), (2, 2)]


def test_threshold_zero_still_asks_for_some_weight():
    assert (0, 2) not in align(WEIGHTS, method="threshold")
    assert len(align(WEIGHTS, method="threshold")) == 8


@pytest.mark.parametrize("method", ["argmax", "mutual"])
def test_a_threshold_holds_for_every_method(method):
    assert align(WEIGHTS, method=method, threshold=0.75) == [(2, 2)]


def test_the_first_of_equals_wins():
    assert align([[0.5, 0.5], [0.5, 0.5]]) == [(0, 0), (0, 1)]
    assert align([[0.5, 0.5], [0.5, 0.5]], method="mutual") == [(0, 0)]


def test_a_target_that_looks_nowhere_has_no_link():
    assert align([[0.0, 0.0], [0.0, 1.0]]) == [(1, 1)]


def test_skipped_positions_take_no_part():
    assert align(WEIGHTS, skip_sources={2}) == [(0, 0), (1, 1), (1, 2)]
    assert align(WEIGHTS, skip_targets={2}, method="mutual") == [(0, 0), (2, 1)]
    assert align(WEIGHTS, skip_sources={0, 1, 2}) == []


@pytest.mark.parametrize("method", ["argmax", "mutual", "threshold"])
@pytest.mark.parametrize("weights", [[], [[], []]])
def test_no_weights_no_links(weights, method):
    assert align(weights, method=method) == []


def test_an_unknown_method_is_told_with_the_nearest():
    with pytest.raises(ConfigError, match=r"'mutal'.*mutual"):
        align(WEIGHTS, method="mutal")


def test_rows_of_different_length_are_told():
    with pytest.raises(RegardError, match=r"rows of weights differ in length: \[1, 2\]"):
        align([[1.0], [0.5, 0.5]])


def test_merging_averages_over_rows_and_sums_over_columns():
    assert merge_weights([[0.25, 0.25, 0.5], [0.75, 0.25, 0.0]], [[0, 1]], [[0, 1], [2]]) == [[0.75, 0.25]]


def test_pieces_become_words_and_end_symbols_go():
    source = ["▁a", "b", "▁c", "</s>"]
    target = ["▁x", "▁y", "z", "</s>"]
    weights = [
        [0.25, 0.25, 0.25, 0.25],
        [0.25, 0.0, 0.75, 0.0],
        [0.0, 0.25, 0.25, 0.5],
        [0.0, 0.0, 0.0, 1.0],
    ]
    found = word_alignment(source, target, weights)
    assert [(word.text, word.pieces) for word in found.source_words] == [("ab", [0, 1]), ("c", [2])]
    assert [(word.text, word.pieces) for word in found.target_words] == [("x", [0]), ("yz", [1, 2])]
    assert found.weights == [[0.5, 0.25], [0.25, 0.5]]
    assert found.links == [(0, 0), (1, 1)]


def test_words_are_linked_by_the_method_asked_for():
    weights = [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]
    found = word_alignment(["a", "b"], ["x", "y", "z"], weights, method="threshold", threshold=0.5)
    assert found.links == [(0, 0), (1, 1), (0, 2), (1, 2)]


def test_no_target_no_words():
    found = word_alignment(["a"], [], [])
    assert (found.target_words, found.weights, found.links) == ([], [], [])


@pytest.mark.parametrize(
    ("source", "target", "weights"),
    [
        (["a"], ["x", "y"], [[1.0]]),
        (["a", "b"], ["x"], [[1.0]]),
        (["a"], ["x"], [[]]),
        ([], ["x"], [[1.0]]),
        (["a"], [], [[1.0]]),
    ],
)
def test_counts_that_do_not_agree_are_told(source, target, weights):
    with pytest.raises(RegardError, match=f"{len(target)} target and {len(source)} source tokens"):
        word_alignment(source, target, weights)


def test_pharaoh_puts_the_source_first():
    assert format_pharaoh([(0, 1), (2, 0)]) == "0-1 2-0"
    assert parse_pharaoh(" 0-1\t2-0\n") == [(0, 1), (2, 0)]
    assert parse_pharaoh("") == []


@given(st.lists(st.tuples(st.integers(0, 10**9 - 1), st.integers(0, 10**9 - 1))))
def test_pharaoh_comes_back(links):
    assert parse_pharaoh(format_pharaoh(links)) == links


@pytest.mark.parametrize("text", ["1", "1-", "-1", "1-2-3", "a-b", "1--2", "1_0-2", "²-1", "１-1", "1:2", f"{10**9}-1"])
def test_what_is_no_link_is_told(text):
    with pytest.raises(RegardError, match="is not a link"):
        parse_pharaoh(f"0-0 {text}")


def test_a_long_fault_is_told_in_short():
    with pytest.raises(RegardError) as told:
        parse_pharaoh("x" * 10_000)
    assert len(str(told.value)) < 150
