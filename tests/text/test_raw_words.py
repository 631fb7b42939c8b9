"""Words of raw text: where they stand, by hand and for any text."""

from random import Random

import pytest

from regard.text.clean import clean
from regard.text.words import given_word_places, raw_word_places


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("Alice met Bob, in  New York.", ["Alice", "met", "Bob", ",", "in", "New", "York", "."]),
        ("U.S. (don't): 1,000.", ["U.S.", "(", "don't", ")", ":", "1,000", "."]),
        ("red,green a/b 10:30!", ["red", ",", "green", "a", "/", "b", "10:30", "!"]),
        (
            "see https://a.org/b_c. Or www.b.org, @me #tag... ann.b@c.org.",
            ["see", "https://a.org/b_c", ".", "Or", "www.b.org", ",", "@me", "#tag", "...", "ann.b@c.org", "."],
        ),
        ("'quoted' AT&T state-of-the-art", ["'", "quoted", "'", "AT&T", "state-of-the-art"]),
        ("हिन्दी, cafe\u0301 ❤\ufe0f", ["हिन्दी", ",", "cafe\u0301", "❤\ufe0f"]),
        ("我在Rome。", ["我", "在", "Rome", "。"]),
    ],
)
def test_words_by_hand(text, words):
    assert [text[start:end] for start, end in raw_word_places(text)] == words


def test_no_character_of_any_text_is_lost():
    """Words are parts of what stands between spaces; those of a clean text are those of the text."""
    draws = Random(5)
    some = [
        *" \t\x1c\x85\u2028\xa0\u3000\0\ud800\u0301\u200b\u200d\ufeff\ufe0f猫🙂/.,'-@1aé",
        "e\u0301",
        "\u212b",
        "U.S.",
        "www.a",
    ]
    for _ in range(2000):
        text = "".join(draws.choices(some, k=draws.randint(0, 14)))
        read = clean(text)
        words = [read[start:end] for start, end in raw_word_places(read)]
        assert "".join(words) == "".join(read.split())
        assert all(word.split() == [word] for word in words)
        cut = [text[slice(*place)] for place in given_word_places(text)]
        assert [*map(clean, cut)] == words
