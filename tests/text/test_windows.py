"""Windows of documents, by hand."""

import pytest

from regard.text.windows import windows, with_windows


@pytest.mark.parametrize(
    ("size", "found"),
    [(1, ["a", "b", "c"]), (2, ["a\tb", "a\tb", "c"]), (3, ["a\tb\tc"] * 3), (9, ["a\tb\tc"] * 3)],
)
def test_windows_follow_on_each_other(size, found):
    assert windows(["a", "b", "c"], size) == found


def test_lines_have_their_windows():
    assert with_windows(["a", "b", "c"], 2) == ["a\ta\tb", "b\ta\tb", "c"]
    assert with_windows(["a\tx", "b"], 2) == ["a x\ta x\tb", "b\ta x\tb"]  # a tab inside would end the sentence
    assert with_windows(["a\tx", "b"], 1) == ["a\tx", "b"]
    assert with_windows([], 4) == []
