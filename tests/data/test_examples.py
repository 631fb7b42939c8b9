"""The held-out part is a function of the sentence alone."""

from hypothesis import given
from hypothesis import strategies as st

from regard.data.examples import Example, split


@given(st.text(), st.text(), st.text(), st.floats(0, 1), st.integers(0, 9))
def test_the_same_sentence_is_always_on_the_same_side(source, one, other, share, seed):
    sides = [
        split(Example(line, {"source": source, "target": text}), share, seed) for line, text in ((1, one), (7, other))
    ]
    assert sides[0] == sides[1]
    assert not sides[0] or split(Example(1, {"source": source}), 1.0, seed)
    assert not split(Example(1, {"source": source}), 0.0, seed)


def test_composed_and_decomposed_letters_are_the_same_sentence():
    pairs = [(f"caf\u00e9 {number}", f"cafe\u0301 {number}") for number in range(50)]
    assert all(
        split(Example(1, {"source": one}), 0.5) == split(Example(1, {"source": other}), 0.5) for one, other in pairs
    )


def test_shares_are_met_nested_and_drawn_by_the_seed():
    examples = [Example(line, {"source": f"sentence {line}"}) for line in range(20_000)]
    small, large, other = (
        {example.line for example in examples if split(example, share, seed)}
        for share, seed in ((0.02, 0), (0.1, 0), (0.1, 1))
    )
    assert abs(len(small) - 400) < 100  # five standard deviations
    assert abs(len(large) - 2000) < 212
    assert small <= large
    assert abs(len(large & other) - 200) < 71
