"""Where pieces stand in a text as it was given, whatever a tokenizer leaves of it."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regard.data.columns import TextColumn
from regard.registry import Choice
from regard.text import clean, train_tokenizer
from regard.text.uncased_words import cut_plain, cut_signs

TEXTS = ["The plot is dull but it isn't the end, is it?", "老人 gives 2 apples", "e\u0301tude"] * 9
LOSSLESS = [
    train_tokenizer(choice, TEXTS)
    for choice in (Choice("words"), Choice("characters"), Choice("subwords", {"size": 310}))
]
READ = {signs: train_tokenizer(Choice("uncased_words", {"signs": signs}), TEXTS) for signs in (True, False)}


def cut(tokenizer, text):
    return [None if place is None else text[slice(*place)] for place in tokenizer.offsets(text)]


@pytest.mark.parametrize(
    ("signs", "text", "words"),
    [
        (True, "The PLOT isn't  dull, Zebra!", ["The", "PLOT", "isn't", "dull", ",", "Zebra", "!"]),
        (False, "The PLOT isn't  dull, Zebra!", ["The", "PLOT", "isn't", "dull", "Zebra"]),
        (True, "老人看The电影", ["老", "人", "看", "The", "电", "影"]),
        (False, "\t<e1>İstanbul</e1> is", ["<e1>", "İ", "stanbul", "</e1>", "is"]),  # two letters in lower case
        (True, "e\u0301tude's e\u0301", ["e\u0301tude's", "e\u0301"]),  # composed before it is cut
        (True, "👀 'isn't'", ["👀", "'", "isn't", "'"]),
        (True, "", []),
    ],
)
def test_uncased_words_by_hand(signs, text, words):
    tokenizer = READ[signs]
    assert cut(tokenizer, text) == words
    assert len(tokenizer.encode(text)) == len(words)


@given(st.text(st.characters(codec=None)))
@example("a\u0301\u0323 \ud800e\u0301 İ'İ ΑΣ'Σ")
@example("\u1100\u1161\u11a8 \u0301x")
def test_places_of_uncased_words_are_those_of_each_piece(text):
    for tokenizer in READ.values():
        pieces, places = [cut_plain, cut_signs][tokenizer.signs](clean(text)), tokenizer.offsets(text)
        assert len(pieces) == len(places) and places == sorted(places)
        for piece, (start, end) in zip(pieces, places, strict=True):
            letters = clean(text[start:end]).lower().replace("'", "")
            assert piece.strip().replace("'", "").replace("ς", "σ") in letters.replace("ς", "σ")


@given(st.text(st.characters(codec=None)))
@example("The \u2581isn't \ue0fe\0 老 e\u0301  two ")
def test_lossless_pieces_cover_all_that_is_seen(text):
    """Every character but spaces, in order; those of a piece that is no single byte are its own."""
    for tokenizer in LOSSLESS:
        pieces, places = tokenizer.pieces(tokenizer.encode(text)), tokenizer.offsets(text)
        assert len(pieces) == len(places)
        covered = {place for one in places if one is not None for place in range(*one)}
        assert {place for place, letter in enumerate(text) if letter.strip()} <= covered
        shown = [one for one in places if one is not None]
        assert shown == sorted(shown)


@pytest.mark.parametrize("tokenizer", LOSSLESS, ids=["words", "characters", "subwords"])
def test_lossless_pieces_stand_where_they_are_spelt(tokenizer):
    text = "The  plot isn't dull, 老人: " + unicodedata.normalize("NFD", "étude") + " 👀"
    for piece, place in zip(tokenizer.pieces(tokenizer.encode(text)), tokenizer.offsets(text), strict=True):
        seen = piece.replace("\u2581", " ").strip()
        if place is None:
            assert seen in {"", "<0x20>"}
        elif not seen.startswith("<0x"):
            assert clean(text[slice(*place)]) == seen


def test_only_the_pieces_that_are_read_have_places():
    text = "The end. " * 40 + "Isn't it dull?"
    column = TextColumn(READ[True], most=4, from_end=True)
    assert [text[slice(*place)] for place in column.offsets(text)] == ["Isn't", "it", "dull", "?"]
    assert [text[slice(*place)] for place in column.cut(2).offsets(text)] == ["The", "end"]
