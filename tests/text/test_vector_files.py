"""Files of vectors: there and back, by gensim's rules, and what is wrong with a file told by its line."""

import gzip
import struct

import numpy as np
import pytest

from regard.errors import DataError
from regard.text.vector_files import read_vectors, write_word2vec
from regard.text.vector_table import VectorTable

WORDS = ["the", "Straße", "水", "don't"]
VECTORS = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)


@pytest.mark.parametrize("name", ["a.txt", "a.bin", "a.txt.gz", "a.bin.gz"])
def test_a_table_comes_back_to_the_bit(name, tmp_path):
    write_word2vec(tmp_path / name, VectorTable(WORDS, VECTORS), binary=".bin" in name)
    found = read_vectors(tmp_path / name)
    assert found.words == WORDS
    assert np.array_equal(found.vectors, VECTORS)


def test_formats_are_those_of_word2vec(tmp_path):
    table = VectorTable(["a", "b"], np.array([[0.5, -2], [1, 3e-5]]))
    write_word2vec(tmp_path / "a.txt", table)
    assert (tmp_path / "a.txt").read_text() == "2 2\na 0.5 -2\nb 1 0.00003\n"
    write_word2vec(tmp_path / "a.bin", table, binary=True)
    numbers = [struct.pack("<2f", 0.5, -2), struct.pack("<2f", 1, 3e-5)]
    assert (tmp_path / "a.bin").read_bytes() == b"2 2\na " + numbers[0] + b"\nb " + numbers[1] + b"\n"
    (tmp_path / "b.bin").write_bytes(b"2 2\na " + numbers[0] + b"b " + numbers[1])  # gensim writes no line ends
    assert read_vectors(tmp_path / "b.bin").words == ["a", "b"]


@pytest.mark.parametrize("dim", ["100000000000000000", "9" * 5000, "1000001"])
@pytest.mark.parametrize("rows", [b"", b"a \x00\x00\x00\x00", b"a 1\n"])
def test_a_width_that_no_memory_holds_is_refused(dim, rows, tmp_path):
    (tmp_path / "a").write_bytes(b"2 " + dim.encode() + b"\n" + rows)
    with pytest.raises(DataError) as caught:
        read_vectors(tmp_path / "a")
    assert caught.value.line == 1


def test_a_damaged_archive_is_told(tmp_path):
    write_word2vec(tmp_path / "a.gz", VectorTable(WORDS, VECTORS))
    whole = bytearray((tmp_path / "a.gz").read_bytes())
    for place in range(12, len(whole) - 8, 3):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        (tmp_path / "b.gz").write_bytes(damaged)
        with pytest.raises(DataError):
            read_vectors(tmp_path / "b.gz")


def test_files_of_glove_have_no_first_line_and_words_with_spaces(tmp_path):
    (tmp_path / "glove.txt").write_text(", 0.5 -2\n. . . 1 2\n\xa0 3 4\n")
    found = read_vectors(tmp_path / "glove.txt")
    assert (found.words, found.vectors.tolist()) == ([",", ". . .", "\xa0"], [[0.5, -2], [1, 2], [3, 4]])


def test_lines_of_fasttext_texts_end_with_a_space(tmp_path):
    (tmp_path / "a.vec").write_text("2 2\nthe 0.5 -2 \nof 1 2 \n")
    assert read_vectors(tmp_path / "a.vec").vectors.tolist() == [[0.5, -2], [1, 2]]


def test_a_line_that_does_not_end_is_refused_while_it_is_read(tmp_path):
    with gzip.open(tmp_path / "a.gz", "wb", 1) as file:
        file.write(b"2 2\na 1 2\nb ")
        for _ in range(20):
            file.write(b"1" * 2**20)
    with pytest.raises(DataError, match=":3: more than 16,777,216 bytes without an end of line"):
        read_vectors(tmp_path / "a.gz")


def test_only_wanted_words_are_kept_and_the_first_of_two(tmp_path):
    (tmp_path / "a").write_text("3 1\na 1\nb 2\na 3\n")
    found = read_vectors(tmp_path / "a", {"a"})
    assert (found.words, found.vectors.tolist()) == (["a"], [[1.0]])


@pytest.mark.parametrize(
    ("content", "line", "why"),
    [
        ("", 1, "is not a file of vectors"),
        ("the film is\n", 1, "it begins with 'the film is'"),
        ("the 0.1 0.2\na 1 2\nb 1\n", 3, "'b' has 1 numbers and the first line has 2"),
        ("the 0.1 0.2\na 1 x\n", 2, "'x' is not a number"),
        ("0 3\n", 1, "it begins with '0 3'"),
        ("2 -3\n", 1, "it begins with '2 -3'"),
        ("2 2\na 1 2\nb 1\n", 3, "'b' has 1 numbers and the header says 2"),
        ("2 2\na 1 2\nb 1 2 3\n", 3, "'b' has 3 numbers and the header says 2"),
        ("2 2\na 1 2\nb 1 x\n", 3, "'x' is not a number"),
        ("2 2\na 1 2\nb 1 nan\n", 3, "the vector of 'b' has a number that is infinite or none"),
        ("2 2\na 1 inf\nb 1 2\n", 2, "the vector of 'a' has a number"),
        ("3 2\na 1 2\nb 1 2\n", 3, "the header says 3 words, and the file ends after 2"),
        ("1 2\na 1 2\nb 1 2\n", 3, "the header says 1 words, and the file goes on"),
    ],
)
def test_wrong_text_files_are_told_by_line(content, line, why, tmp_path):
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(DataError, match=why) as found:
        read_vectors(tmp_path / "a.txt")
    assert found.value.line == line
    assert str(found.value).startswith(f"{tmp_path / 'a.txt'}")


@pytest.mark.parametrize("size", [5, 8, 14, 20])
def test_binary_files_cut_short_are_refused(size, tmp_path):
    write_word2vec(tmp_path / "a.bin", VectorTable(WORDS, VECTORS), binary=True)
    (tmp_path / "b.bin").write_bytes((tmp_path / "a.bin").read_bytes()[:size])
    with pytest.raises(DataError, match="header says 4 words, and the file ends after"):
        read_vectors(tmp_path / "b.bin")


def test_binary_numbers_that_are_none_are_refused(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"1 2\na " + struct.pack("<2f", 1, float("nan")))
    with pytest.raises(DataError, match=":2: the vector of") as found:
        read_vectors(tmp_path / "a.bin")
    assert "infinite or none" in str(found.value)


def test_damaged_and_missing_files_are_one_line(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"1 1\na 1\n")[:12])
    for name in ("a.gz", "missing"):
        with pytest.raises(DataError, match="cannot be read") as found:
            read_vectors(tmp_path / name)
        assert "\n" not in str(found.value)


def test_a_word_with_a_space_is_not_written(tmp_path):
    with pytest.raises(DataError, match="'a b' is empty or has a space"):
        write_word2vec(tmp_path / "a", VectorTable(["a b"], np.ones((1, 1))))


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
