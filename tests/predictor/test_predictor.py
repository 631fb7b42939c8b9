"""Texts in, predictions out: in their order, each for itself, with what it looked at."""

import pytest
import torch
from torch.testing import assert_close

from regard.decoding import SEARCHES
from regard.errors import DataError
from regard.models import AttentionSettings, ModelSettings, build_translator
from regard.predictor import Predictor
from regard.registry import Choice
from regard.tasks.translation import TranslationTask
from regard.text import train_tokenizer

TEXTS = ["a dog runs", "", "two cats", " \u3000", "he reads a very long book about dogs and cats", "yes", "a dog runs"]


@pytest.fixture
def predictor():
    """Of random weights: what it says is nonsense, but it is the same nonsense each time."""
    tokenizer = train_tokenizer(Choice("characters"), [*TEXTS, "äöü ß"])
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    heads = AttentionSettings(num_heads=2)
    settings = ModelSettings(8, encoder=blocks, decoder=blocks, attention=heads, self_attention=heads)
    model = build_translator(settings, len(tokenizer), len(tokenizer))
    search = SEARCHES.build(Choice("beam", {"size": 3, "n_best": 2, "max_extra": 5}))
    return Predictor(model, TranslationTask(tokenizer, tokenizer, search), batch_tokens=60, max_source=60)


def test_every_text_has_its_answer_in_its_place(predictor):
    found = predictor.predict(TEXTS)
    assert [one.source for one in found] == TEXTS
    assert found[0] == found[-1]
    for text, one in zip(TEXTS, found, strict=True):
        (alone,) = predictor.predict([text])
        assert (one.text, len(one.alternatives)) == (alone.text, 1 if text.strip() else 0)
        assert_close(one.score, alone.score, atol=1e-5, rtol=0)


def test_nothing_says_nothing(predictor):
    assert [one.text for one in predictor.predict(["", " \n"])] == ["", ""]
    assert predictor.predict([]) == []


def test_a_surrogate_is_read_as_the_replacement_character(predictor):
    (one,) = predictor.predict(["a\udcffb"])
    assert one.source == "a\ufffdb"
    one.text.encode("utf-8")


def test_a_text_that_is_too_long_is_told_by_its_number(predictor):
    with pytest.raises(DataError, match=r"source:2: 60 pieces are more than this model takes \(59\)"):
        predictor.predict(["yes", "x" * 60])


def test_forced_decoding_scores_what_is_given(predictor):
    sources, targets = ["a dog runs", "yes"], ["äöü", "two cats"]
    found = predictor.score(sources, targets)
    assert [one.text for one in found] == targets
    for one, source, target in zip(found, sources, targets, strict=True):
        task, model = predictor.task, predictor.model
        batch = task.batch([task.source.encode(source)], [task.target.encode(target)])
        with torch.no_grad():
            wanted = (-model.nll(batch)[0]).tolist()
        assert_close(one.log_probs, wanted)
        assert one.score == pytest.approx(sum(wanted))


def test_unequal_counts_are_told(predictor):
    with pytest.raises(DataError, match="1 texts, but the source has 2"):
        predictor.score(["a", "b"], ["x"])


def test_an_explanation_has_tokens_weights_links_and_maps(predictor):
    found = predictor.predict(["two cats", "yes"], explain=True)
    for one in found:
        told = one.explanation
        assert told.source_tokens == [*one.source, "</s>"]
        target = predictor.task.target
        assert told.target_tokens == [*target.pieces(target.encode(one.text)), "</s>"]
        weights = torch.tensor(told.weights)
        assert weights.shape == (len(told.target_tokens), len(told.source_tokens))
        assert_close(weights.sum(dim=-1), torch.ones(len(weights)), atol=1e-5, rtol=0)
        best = weights[:-1, :-1].argmax(dim=-1).tolist()
        assert told.alignment == [(source, target) for target, source in enumerate(best)]
        assert {each.kind for each in told.maps} == {"encoder", "decoder", "cross"}
    assert "<iframe" in found._repr_html_()
    assert found[0].text in str(found)
