"""One shape of explanations, and the JSON that tells each kind of them as ever."""

import pytest

from regard.answers import LabelPrediction
from regard.answers.tags import TagsPrediction
from regard.explain import to_json
from regard.explain.maps import without_end
from regard.results import AttentionMap, ColumnLink, Explanation, Prediction, TokenRole, Tokens

GIVEN, WRITTEN, LABEL, ITEMS, DERIVED, ASIDE = TokenRole
READ, OFFSETS = [" ein", " hund", "</s>"], [[0, 3], [4, 8], None]


def words(*texts: str) -> list[dict]:
    """A word for each piece."""
    return [{"text": text, "pieces": [place]} for place, text in enumerate(texts)]


def told(found: Explanation, prediction=Prediction, source: str = "Ein Hund", text: str = "a dog") -> dict:
    (one,) = to_json([prediction(source, text, -1.0, explanation=found)])["predictions"]
    return one["explanation"]


def test_a_translation_is_two_columns_and_a_link():
    weights = [[0.75, 0.25, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    cross = AttentionMap("cross", "cross", 0, [weights], "target", "source")
    found = Explanation.of_text(READ, [" a", " dog", "</s>"], [(0, 0), (1, 1)], weights, [cross])
    assert told(found) == {
        "source_tokens": READ,
        "target_tokens": [" a", " dog", "</s>"],
        "source_words": words("ein", "hund", "</s>"),
        "target_words": words("a", "dog", "</s>"),
        "alignment": [[0, 0], [1, 1]],
        "weights": [[0.75, 0.25, 0], [0, 1, 0], [0, 0, 1]],
        "shares": True,
        "maps": [
            {
                "name": "cross",
                "kind": "cross",
                "layer": 0,
                "queries": "target",
                "keys": "source",
                "weights": [[[0.75, 0.25, 0], [0, 1, 0], [0, 0, 1]]],
                "shares": True,
            }
        ],
    }


def test_a_text_without_a_source_is_one_column():
    seen = told(Explanation({"text": Tokens([" a", "</s>"], WRITTEN)}))
    assert seen == {
        "source_tokens": [],
        "target_tokens": [" a", "</s>"],
        "source_words": [],
        "target_words": words("a", "</s>"),
        "alignment": [],
        "weights": [],
        "shares": True,
        "maps": [],
    }


def test_a_draft_is_a_column_beside_both_sides():
    found = Explanation.of_text(READ, [" a", "</s>"], [(0, 0)], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    seen = told(Explanation({**found.columns, "draft": Tokens([" the"], DERIVED)}, found.links))
    assert {name: one["tokens"] for name, one in seen["columns"].items()} == {
        "source": READ,
        "target": [" a", "</s>"],
        "draft": [" the"],
    }


@pytest.mark.parametrize("weights", [[], [[0.5, 0.25, 0.25]]])
def test_an_end_symbol_stands_behind_a_label(weights):
    """In JSON alone: nothing looks from there."""
    links = [ColumnLink("text", "label", [], weights)] if weights else []
    found = Explanation({"text": Tokens(READ, GIVEN, OFFSETS), "label": Tokens(["de"], LABEL)}, links)
    assert told(found, LabelPrediction, text="de") == {
        "source_tokens": READ,
        "target_tokens": ["de", "</s>"],
        "source_words": words("Ein", "Hund", "</s>"),  # as they were given
        "target_words": words("de", "</s>"),
        "alignment": [],
        "weights": [[0.5, 0.25, 0.25], [0, 0, 0]] if weights else [],
        "shares": True,
        "maps": [],
        "columns": {
            "text": {"tokens": READ, "words": words("Ein", "Hund", "</s>")},
            "label": {"tokens": ["de"], "words": words("de")},
        },
        "offsets": {"text": OFFSETS},
    }
    assert found.column("label").texts == ["de"] and found.link.weights == (weights or ())


def test_tags_have_no_end_symbol():
    columns = {"text": Tokens(["ein", "Hund"], GIVEN), "tags": Tokens(["D", "N"], ITEMS)}
    seen = told(Explanation(columns, [ColumnLink("text", "tags", [(0, 0), (1, 1)])]), TagsPrediction)
    assert (seen["source_tokens"], seen["target_tokens"]) == (["ein", "Hund"], ["D", "N"])
    assert (seen["alignment"], [*seen["columns"]]) == ([[0, 0], [1, 1]], ["text", "tags"])


def test_what_stands_aside_has_no_column():
    columns = {"text": Tokens(READ, GIVEN), "answers": Tokens([" dog", "</s>"], ASIDE)}
    seen = told(Explanation(columns, [ColumnLink("text", "answers", [(1, 0)], [[0.0, 1.0, 0.0], [0.0] * 3])]))
    assert (seen["target_tokens"], [*seen["columns"]]) == ([" dog", "</s>"], ["text"])


def test_of_two_texts_the_first_is_the_source():
    columns = {"first": Tokens(READ, GIVEN), "second": Tokens([" a"], GIVEN), "label": Tokens(["no"], LABEL)}
    seen = told(Explanation(columns), LabelPrediction, source="Ein Hund\ta")
    assert (seen["source_tokens"], seen["target_tokens"]) == (READ, ["no", "</s>"])


def test_python_has_the_names_of_json_for_one_more_release():
    found = Explanation.of_text(["a"], ["x", "y"], [(0, 1)], [[1.0], [0.5]])
    assert (found.source_tokens, found.target_tokens) == (["a"], ["x", "y"])
    assert (found.alignment, found.weights, found.offsets) == ([(0, 1)], [[1.0], [0.5]], {})
    with pytest.raises(AttributeError):
        found.alignment = []


def test_what_was_cut_off_has_no_end_symbol():
    found = Explanation.of_text(READ, [" a", "</s>"], [(0, 0)], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    seen = told(without_end(Explanation({**found.columns, "draft": Tokens([" the"], DERIVED)}, found.links)))
    assert seen["target_tokens"] == seen["columns"]["target"]["tokens"] == [" a"]
    assert seen["weights"] == [[1, 0, 0]]


def test_a_map_without_columns_has_numbered_axes():
    shown = Explanation({}, maps=[AttentionMap("cross", "cross", 0, [[[0.25, 0.75]], [[1.0, 0.0]]])])
    values, axes, labels = shown.array(shown.maps[0])
    assert values.shape == (2, 1, 2)
    assert axes == ("head", "query", "key")
    assert labels == (["0", "1"], ["0"], ["0", "1"])
