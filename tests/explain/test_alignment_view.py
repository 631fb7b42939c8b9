"""A model without a source shows what its last layer looked at of its own words."""

import io
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from networks import build_language_model
from rich.console import Console
from tasks import language_model_of

from regard.answers import show
from regard.errors import RegardError
from regard.explain import by_words, svg
from regard.explain.alignment_view import OWN_WORDS, START, alignment_view
from regard.explain.maps import without_end
from regard.registry import Choice
from regard.results import AttentionMap, Explanation, Prediction, TokenRole, Tokens
from regard.text import train_tokenizer

HEADS = [[[1.0, 0.0], [0.2, 0.8]], [[1.0, 0.0], [0.6, 0.4]]]
FIRST = AttentionMap("a", "decoder", 0, [[[1.0, 0.0], [1.0, 0.0]]])
MAPS = [FIRST, AttentionMap("b", "decoder", 1, HEADS)]
OWNED = Explanation({"text": Tokens(["▁the", "</s>"], TokenRole.WRITTEN)}, maps=MAPS)


def told(found: Explanation) -> str:
    file = io.StringIO()
    show([Prediction("", "the", -1.0, explanation=found)], Console(file=file, width=200))
    return file.getvalue()


def test_the_last_layer_is_averaged_over_its_heads():
    seen = alignment_view(OWNED)
    assert (seen.columns, seen.rows, seen.about) == ([START, "▁the"], ["▁the", "</s>"], OWN_WORDS)
    assert seen.weights == [[1.0, 0.0], [pytest.approx(0.4), pytest.approx(0.6)]]


def test_a_terminal_shows_it_and_says_where_the_rest_is():
    lines = told(OWNED).splitlines()
    assert lines[2:4] == [OWN_WORDS, f"  the ← {START} 100%"]
    assert "--html" in OWN_WORDS and "--json" in OWN_WORDS


def test_an_alignment_comes_before_it():
    found = Explanation.of_text(["▁das", "</s>"], ["▁the", "</s>"], [], [[0.9, 0.1], [0.1, 0.9]], MAPS)
    assert alignment_view(found)[:4] == (["▁das", "</s>"], ["▁the", "</s>"], [[0.9, 0.1], [0.1, 0.9]], "")


def test_what_is_cut_off_has_as_many_columns_as_weights():
    found = without_end(OWNED)
    assert alignment_view(found).columns == [START] and alignment_view(found).weights == [[1.0]]


def test_without_any_map_there_is_no_picture():
    found = replace(OWNED, maps=[])
    assert alignment_view(found) is None and "│" not in told(found)
    with pytest.raises(RegardError, match="no single words"):
        by_words(found)


def test_each_word_of_a_language_model_is_written_by_what_was_there():
    tokenizer = train_tokenizer(Choice("words"), ["a dog sees two cats"])
    decoder = Choice("transformer", {"num_layers": 2, "feedforward_dim": 8})
    model = build_language_model(dict(dim=8, decoder=decoder), len(tokenizer)).eval()
    task = language_model_of(tokenizer)
    found = task.explain(model, task.batch(task.encode([task.texts.scored("a dog", "sees cats")])))[0]
    columns, rows, weights = by_words(found)
    assert columns == [START, "a", "dog", "sees", "cats"] and rows == columns[1:]
    assert [sum(weight > 0 for weight in row) for row in weights] == [1, 2, 3, 4]
    assert [sum(row) for row in weights] == pytest.approx([1.0] * 4, abs=1e-3)
    tips = [title.text for title in ET.fromstring(svg(columns, rows, weights)).iter() if " → " in (title.text or "")]
    assert tips[0] == f"a → {START}: 1.000"
