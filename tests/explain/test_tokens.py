"""What people read of tokens."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.explain.tokens import byte_of, is_end, right_to_left, told_apart, visible, visible_line, words_of

ANYTHING = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", "a␣b"),
        ("\0\t\n\x1b", "␀␉␊␛"),
        ("\x7f\x85", "⟨U+007F⟩⟨U+0085⟩"),
        ("\u202e\u2066\u200f", "⟨U+202E⟩⟨U+2066⟩⟨U+200F⟩"),
        ("\u2028\u2029\u00a0\ufeff", "⟨U+2028⟩⟨U+2029⟩⟨U+00A0⟩⟨U+FEFF⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("\uffff\ufdd0", "⟨U+FFFF⟩⟨U+FDD0⟩"),
        ("नमस्‍ते 你好", "नमस्‍ते␣你好"),
        ("<b>&\"'", "<b>&\"'"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown


def test_a_line_keeps_its_spaces():
    assert visible_line("a  b\n") == "a  b␊"


@given(ANYTHING)
def test_what_is_visible_moves_nothing_and_can_be_written(text):
    shown = visible(text)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert not {unicodedata.category(character) for character in shown.replace("\u200c", "").replace("\u200d", "")} & {
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
        "Zs",
    }


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["▁un", "believ", "able", "▁news"], ["unbelievable", "news"]),
        (["▁", "Haus", "▁ist"], ["Haus", "ist"]),
        (["▁it", "'", "s", "▁so", ",", "▁so"], ["it", "'", "s", "so", ",", "so"]),
        (["▁我们", "在", "家"], ["我们", "在", "家"]),
        (["▁カ", "タ"], ["カ", "タ"]),
        (["the", "old", "man"], ["the", "old", "man"]),
        ([" the", "re", " is"], ["there", "is"]),
        (["▁a", "</s>"], ["a", "</s>"]),
        (["▁caf", "<0xC3>", "<0xA9>", "▁x"], ["café", "x"]),
        (["▁a", "<0xFF>"], ["a\ufffd"]),
        (["▁"], ["▁"]),
        (["▁x", "\ud800"], ["x", "\ud800"]),
        ([], []),
    ],
)
def test_pieces_to_words(tokens, words):
    assert [word.text for word in words_of(tokens)] == words


@given(st.lists(ANYTHING | st.sampled_from(["▁", "▁a", "b", "</s>", "<0xE4>", " "])))
def test_every_piece_is_in_one_word_and_in_order(tokens):
    assert [piece for word in words_of(tokens) for piece in word.pieces] == list(range(len(tokens)))


@pytest.mark.parametrize(("token", "byte"), [("<0x00>", 0), ("<0xe4>", 0xE4), ("<0xFF>", 255)])
def test_a_byte_piece(token, byte):
    assert byte_of(token) == byte


@pytest.mark.parametrize(
    "token", ["<0x-1>", "<0x+1>", "<0x 1>", "<0x_1>", "<0xG1>", "<0x1>", "<0x111>", "0xE4", "<0x١١>"]
)
def test_what_only_looks_like_a_byte_piece_is_text(token):
    assert byte_of(token) is None
    assert words_of(["▁a", token])[-1].text.endswith(token)


def test_words_that_look_the_same_are_told_apart():
    assert told_apart(["a", "b", "a", "\0", "␀"]) == ["a₁", "b", "a₂", "␀₁", "␀₂"]
    assert told_apart(["x"] * 12)[-3:] == ["x₁₀", "x₁₁", "x₁₂"]


def test_the_end_symbol_ends():
    assert is_end(["a", "</s>"], 1)
    assert not is_end(["</s>", "a"], 0)
    assert not is_end(["a", "b"], 1)


@pytest.mark.parametrize(
    ("tokens", "right"),
    [(["שלום"], True), (["▁كتاب", "x"], True), (["abc", "ש"], False), (["1", "!"], False), ([], False)],
)
def test_right_to_left(tokens, right):
    assert right_to_left(tokens) is right
