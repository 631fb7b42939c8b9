"""What learned questions looked at, by hand."""

from regard.explain.looked_at import looked_at, places
from regard.results import AttentionMap, Explanation

TOKENS = ["▁a", "▁fi", "ne", "▁film", "</s>"]


def pooled(*maps: AttentionMap, alignment=(), **columns: list[str]) -> Explanation:
    return Explanation(TOKENS, ["good", "</s>"], list(alignment), [], list(maps), {**columns, "label": ["good"]})


def test_words_have_the_sum_of_their_pieces_and_the_mean_of_heads_and_questions():
    heads = [
        [[0.1, 0.2, 0.3, 0.3, 0.1], [0.5, 0.0, 0.0, 0.5, 0.0]],
        [[0.3, 0.2, 0.1, 0.3, 0.1], [0.1, 0.4, 0.4, 0.1, 0.0]],
    ]
    (seen,) = looked_at(pooled(AttentionMap("pooling", "pooling", 0, heads, "", "text"), text=TOKENS))
    assert [word.text for word in seen.words] == ["a", "fine", "film", "</s>"]
    by_hand = [(0.2 + 0.3) / 2, (0.4 + 0.4) / 2, (0.3 + 0.3) / 2, (0.1 + 0.0) / 2]
    assert [round(weight, 9) for weight in seen.of_words()] == by_hand
    assert seen.questions == ["good", "good"] and seen.shares


def test_of_a_text_the_first_map_tells():
    whole, part = ([[[float(place == at) for place in range(5)]]] for at in (1, 3))
    maps = [
        AttentionMap(name, "pooling", 0, weights, "", "text") for name, weights in (("both", whole), ("words", part))
    ]
    (seen,) = looked_at(pooled(*maps, text=TOKENS))
    assert seen.weights == whole[0]


def test_of_sentences_each_map_is_a_question():
    hops = [AttentionMap(f"hop {at}", "pooling", at, [[[at / 4, 1 - at / 4]]], "", "sentences") for at in (1, 2)]
    (seen,) = looked_at(pooled(*hops, text=TOKENS, sentences=["a fine film", "it rains"]))
    assert (seen.column, seen.questions) == ("sentences", ["hop 1", "hop 2"])
    assert seen.weights == [[0.25, 0.75], [0.5, 0.5]]


def test_weights_that_do_not_compete_are_no_shares():
    (seen,) = looked_at(pooled(AttentionMap("p", "pooling", 0, [[[0.9, 0.9, 0.9, 0.9, 0.9]]], "", "text"), text=TOKENS))
    assert not seen.shares


def test_what_looks_from_a_text_or_has_links_is_told_elsewhere():
    own = AttentionMap("own", "encoder", 0, [[[1.0] * 5] * 5], "text", "text")
    assert looked_at(pooled(own, text=TOKENS)) == []
    asked = AttentionMap("p", "pooling", 0, [[[0.2] * 5]], "", "text")
    assert looked_at(pooled(asked, alignment=[(0, 0)], text=TOKENS)) == []


def test_places_of_words_in_a_text():
    assert places("a  fine film, a", ["a", "fine", "film", ",", "a", "</s>"]) == [
        (0, 1), (3, 7), (8, 12), (12, 13), (14, 15), None,
    ]  # fmt: skip
    assert places("one" + " " * 200 + "two", ["one", "two", "one"]) == [(0, 3), None, None]
