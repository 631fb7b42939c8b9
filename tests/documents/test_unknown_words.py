"""Words in a script that a vocabulary does not know: hidden from the model, and copied to where they belong."""

import string

import pytest
from hostile import all_translated, shouted
from hypothesis import given
from hypothesis import strategies as st

from regard.documents.files import text_document
from regard.documents.unknown_words import copy_unknown_words

KNOWN = frozenset(string.ascii_letters + string.digits + ".,;:!?'-()äöüß")


def document_of(text, kind="text"):
    return copy_unknown_words(text_document(text, kind, language="en"), KNOWN)


@pytest.mark.parametrize(
    ("text", "asked", "upper"),
    [
        ("The word 汉字 means sign.", "The word means sign.", "THE WORD 汉字 MEANS SIGN."),
        ("Peking北京is nice", "Peking is nice", "PEKING北京 IS NICE"),
        ("Hello Привет мир world", "Hello world", "HELLO Привет мир WORLD"),
        ("See 字, 42 and %s", "See, 42 and", "SEE 字, 42 AND %s"),
    ],
)
def test_unknown_words_are_copied(text, asked, upper):
    found = document_of(text)
    assert found.texts == [asked]
    assert found.rebuild(shouted(found.texts)) == upper
    assert found.explain


def test_tags_are_kept_around_unknown_words():
    found = document_of("<b>汉字</b> is a <i>word</i>, ok", "html")
    assert found.texts == ["is a word, ok"]
    assert found.rebuild(shouted(found.texts)) == "<b>汉字</b> IS A <i>WORD</i>, OK"


@pytest.mark.parametrize("text", ["Łukasz sees Đorđe.", "only known words", "汉字", "汉字 1999", "你好。", ""])
def test_what_stays_as_it_is(text):
    """A rare letter in a known word; a sentence that is copied as a whole; what is known."""
    assert document_of(text) == text_document(text, language="en")


def test_of_an_empty_alphabet_nothing_is_known():
    found = text_document("any 汉字")
    assert copy_unknown_words(found, frozenset()) is found


@given(st.text(alphabet="ab .,汉字дПñ–\u3000%s{}<>1", max_size=60), st.integers(0, 50))
def test_every_unknown_word_comes_out_once_whatever_the_translator_says(text, seed):
    found = document_of(text)
    hidden = [span.body for passage in found.passages for span in passage.protected if span.copied]
    out = found.rebuild(all_translated(found.texts, seed))
    for body in set(hidden):
        assert out.count(body) >= hidden.count(body)
    for passage in found.passages:
        assert len(passage.text) == len(passage.places)
        assert passage.text == passage.text.strip()
