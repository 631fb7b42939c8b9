"""The held-out part is a function of the sentence alone."""

from hypothesis import given
from hypothesis import strategies as st

from regard.data.examples import position


@given(st.text(), st.integers(0, 9))
def test_the_same_sentence_always_stands_at_the_same_place(text, seed):
    assert 0.0 <= position(text, seed) == position(text, seed) < 1.0


def test_composed_and_decomposed_letters_are_the_same_sentence():
    assert all(position(f"caf\u00e9 {number}") == position(f"cafe\u0301 {number}") for number in range(50))


def test_shares_are_met_nested_and_drawn_by_the_seed():
    small, large, other = (
        {line for line in range(20_000) if position(f"sentence {line}", seed) < share}
        for share, seed in ((0.02, 0), (0.1, 0), (0.1, 1))
    )
    assert abs(len(small) - 400) < 100  # five standard deviations
    assert abs(len(large) - 2000) < 212
    assert small <= large
    assert abs(len(large & other) - 200) < 71
