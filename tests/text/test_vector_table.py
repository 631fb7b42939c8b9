"""Neighbours, analogies and similarities of a few vectors by hand."""

import numpy as np
import pytest

from regard.errors import DataError
from regard.text.vector_table import VectorTable

TABLE = VectorTable(
    ["king", "queen", "man", "woman", "zero"], np.array([[3.0, 1, 0], [3, 0, 1], [0, 2, 0], [0, 0, 5], [0, 0, 0]])
)


def test_similarity_is_the_cosine():
    assert TABLE.similarity("king", "queen") == pytest.approx(9 / 10)
    assert TABLE.similarity("man", "woman") == 0
    assert TABLE.similarity("zero", "man") == 0


def test_nearest_are_ranked_without_the_word_itself():
    assert [one.word for one in TABLE.nearest("king")] == ["queen", "man", "woman", "zero"]
    assert TABLE.nearest("king", 1)[0].cosine == pytest.approx(0.9)


def test_analogy_adds_the_difference():
    assert TABLE.analogy("man", "king", "woman", 1)[0].word == "queen"


def test_an_unknown_word_is_told_with_the_nearest_spelling():
    with pytest.raises(DataError, match=r"there is no vector of 'quen'.*queen"):
        TABLE.vector("quen")
