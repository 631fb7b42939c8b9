"""Lexicons: look-up and files."""

import pytest

from regard.errors import DataError
from regard.statistical.bitext import NULL, Bitext
from regard.statistical.lexical_table import UNSEEN, Lexicon
from regard.statistical.phrase_extraction import Linked
from regard.statistical.phrase_scores import linked_lexicon

TEXT = Bitext.of([(["das", "Haus"], ["the", "big", "house"]), (["Haus"], ["house"]), (["das"], ["this"])])
LINKS = [[(0, 0), (1, 2)], [(0, 0)], [(0, 0)]]


def lexicon() -> Lexicon:
    """By hand: das → the, this; Haus → house, house; NULL → big."""
    return linked_lexicon(TEXT, Linked.of(TEXT, LINKS))[0]


def test_linked_words_are_counted():
    assert [*lexicon()] == [
        (NULL, "big", 1.0), ("das", "the", 0.5), ("das", "this", 0.5), ("Haus", "house", 1.0),
    ]  # fmt: skip


def test_the_best_translations_of_a_word():
    assert lexicon().best("das", 1) == [("the", 0.5)]
    assert lexicon().best("Maus", 3) == []


def test_probabilities_of_another_text():
    (block,) = (text := Bitext.of([(["Haus", "x"], ["house", "y"])])).blocks()
    found = lexicon().probabilities(text, block)
    assert found.tolist() == [[[UNSEEN, 1.0, UNSEEN], [UNSEEN, UNSEEN, UNSEEN]]]


@pytest.mark.parametrize("name", ["lexicon.tsv", "lexicon.tsv.gz"])
def test_a_written_lexicon_is_read_again(tmp_path, name):
    lexicon().write(tmp_path / name)
    assert sorted(Lexicon.read(tmp_path / name)) == sorted(lexicon())


@pytest.mark.parametrize("line", ["das\tthe", "das\tthe\t1.5", "das\tthe\tx", "das the 0.5"])
def test_a_broken_line_is_named(tmp_path, line):
    path = tmp_path / "lexicon.tsv"
    path.write_text(f"das\tthis\t0.5\n{line}\n", "utf-8")
    with pytest.raises(DataError, match=r"lexicon\.tsv:2: .* is not an entry"):
        Lexicon.read(path)
