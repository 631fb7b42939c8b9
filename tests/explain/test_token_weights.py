"""What learned questions looked at, by hand."""

import xml.etree.ElementTree as ET

import pytest
from explanations import of_label

from regard.explain import svg_of
from regard.explain.token_weights import search_words, token_weights
from regard.results import AttentionMap, ColumnLink, Explanation

TOKENS = ["▁a", "▁fi", "ne", "▁film", "</s>"]


def pooled(*maps: AttentionMap, alignment=(), **columns: list[str]) -> Explanation:
    links = [ColumnLink("text", "label", alignment)] if alignment else []
    return of_label({**columns, "label": ["good"]}, maps, links)


def test_words_have_the_sum_of_their_pieces_and_the_mean_of_heads_and_questions():
    heads = [
        [[0.1, 0.2, 0.3, 0.3, 0.1], [0.5, 0.0, 0.0, 0.5, 0.0]],
        [[0.3, 0.2, 0.1, 0.3, 0.1], [0.1, 0.4, 0.4, 0.1, 0.0]],
    ]
    (seen,) = token_weights(pooled(AttentionMap("pooling", "pooling", 0, heads, "", "text"), text=TOKENS))
    assert [word.text for word in seen.words] == ["a", "fine", "film", "</s>"]
    by_hand = [(0.2 + 0.3) / 2, (0.4 + 0.4) / 2, (0.3 + 0.3) / 2, (0.1 + 0.0) / 2]
    assert [round(weight, 9) for weight in seen.of_words()] == by_hand
    assert seen.questions == ["good", "good"] and seen.shares


def test_of_a_text_the_first_map_tells():
    whole, part = ([[[float(place == at) for place in range(5)]]] for at in (1, 3))
    maps = [
        AttentionMap(name, "pooling", 0, weights, "", "text") for name, weights in (("both", whole), ("words", part))
    ]
    (seen,) = token_weights(pooled(*maps, text=TOKENS))
    assert seen.weights == whole[0]


def test_of_sentences_each_map_is_a_question():
    hops = [AttentionMap(f"hop {at}", "pooling", at, [[[at / 4, 1 - at / 4]]], "", "sentences") for at in (1, 2)]
    (seen,) = token_weights(pooled(*hops, text=TOKENS, sentences=["a fine film", "it rains"]))
    assert (seen.column, seen.questions) == ("sentences", ["hop 1", "hop 2"])
    assert seen.weights == [[0.25, 0.75], [0.5, 0.5]]


def test_weights_that_do_not_compete_are_no_shares():
    (seen,) = token_weights(
        pooled(AttentionMap("p", "pooling", 0, [[[0.9, 0.9, 0.9, 0.9, 0.9]]], "", "text"), text=TOKENS)
    )
    assert not seen.shares


def test_what_looks_from_a_text_or_has_links_is_told_elsewhere():
    own = AttentionMap("own", "encoder", 0, [[[1.0] * 5] * 5], "text", "text")
    assert token_weights(pooled(own, text=TOKENS)) == []
    asked = AttentionMap("p", "pooling", 0, [[[0.2] * 5]], "", "text")
    assert token_weights(pooled(asked, alignment=[(0, 0)], text=TOKENS)) == []


def test_a_translation_has_no_learned_questions():
    cross = AttentionMap("decoder.cross", "cross", 0, [[[1.0]]])
    assert token_weights(Explanation.of_text(["a"], ["x"], [], [[1.0]], [cross])) == []


def test_places_of_words_in_a_text():
    assert search_words("a  fine film, a", ["a", "fine", "film", ",", "a", "</s>"]) == [
        (0, 1), (3, 7), (8, 12), (12, 13), (14, 15), None,
    ]  # fmt: skip
    assert search_words("one" + " " * 200 + "two", ["one", "two", "one"]) == [(0, 3), None, None]


def tips(picture: ET.Element) -> list[str]:
    return [one.text for one in picture.iter() if one.tag.endswith("title") and " → " in one.text]


def test_a_picture_has_the_words_with_their_weights():
    asked = AttentionMap("p", "pooling", 0, [[[0.1, 0.2, 0.3, 0.3, 0.1]]], "", "text")
    picture = ET.fromstring(svg_of(pooled(asked, text=TOKENS)))
    assert tips(picture) == ["good → a: 0.100", "good → fine: 0.500", "good → film: 0.300", "good → </s>: 0.100"]
    boxes = [one for one in picture.iter() if one.get("rx") == "5"]
    assert [float(one.get("fill-opacity")) for one in boxes] == [0.11, 0.55, 0.33, 0.11]  # of the strongest word


def test_long_texts_go_on_in_the_next_line_of_a_picture():
    words = [f" word{number}" for number in range(40)]
    asked = AttentionMap("p", "pooling", 0, [[[1 / 40] * 40]], "", "text")
    picture = ET.fromstring(svg_of(pooled(asked, text=words)))
    boxes = [one for one in picture.iter() if one.get("rx") == "5"]
    right = [int(one.get("x")) + int(one.get("width")) for one in boxes]
    assert max(right) <= int(picture.get("width")) - 16
    lines = sorted({int(one.get("y")) for one in boxes})
    assert len(lines) > 2 and lines[-1] + 26 <= int(picture.get("height"))


def test_sentences_are_the_rows_of_a_picture():
    hops = [AttentionMap(f"hop {at}", "pooling", at, [[[at / 4, 1 - at / 4]]], "", "sentences") for at in (1, 2)]
    picture = ET.fromstring(svg_of(pooled(*hops, text=TOKENS, sentences=["a fine film", "it rains"])))
    assert tips(picture) == [
        f"{sentence} → {hop}: {weight:.3f}"
        for sentence, row in (("a fine film", (0.25, 0.5)), ("it rains", (0.75, 0.5)))
        for hop, weight in zip(("hop 1", "hop 2"), row, strict=True)
    ]


@pytest.mark.parametrize("hostile", ["</text><script>", "\x1b", "a&b"])
def test_hostile_words_are_text_in_a_picture(hostile):
    asked = AttentionMap("p", "pooling", 0, [[[0.5, 0.5]]], "", "text")
    picture = ET.fromstring(svg_of(pooled(asked, text=[f" {hostile}", "</s>"])))
    assert not [one for one in picture.iter() if one.tag.endswith("script")]
