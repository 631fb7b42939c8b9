"""Which words speak for an answer: arrays with names, and the same in the shape of an explanation."""

import pytest
import torch
from networks import build_translator, columns_of
from tasks import engine_of, language_model_of, predictor_of, translation_of
from torch.testing import assert_close

from regard.answers import show
from regard.data.columns import LabelColumn, TextColumn
from regard.errors import ConfigError
from regard.explain import to_json
from regard.explain.alignment import align, heads_of
from regard.explain.alignment_view import alignment_view
from regard.models import MODELS
from regard.predictor import Predictor
from regard.registry import Choice
from regard.results import WordRelevance
from regard.tasks import ClassificationTask, relevance
from regard.text import train_tokenizer

TEXTS = ["a dog runs", "two old cats"]
SMALL = {"num_layers": 1, "feedforward_dim": 8}


@pytest.fixture
def tokenizer():
    return train_tokenizer(Choice("words"), TEXTS)


@pytest.fixture
def translator(tokenizer):
    blocks = Choice("transformer", SMALL)
    settings = {"dim": 8, "encoder": blocks, "decoder": blocks}
    model, task = build_translator(settings, len(tokenizer), len(tokenizer)), translation_of(tokenizer)
    return Predictor(model, task, engine_of(model, task, Choice("greedy", {"max_extra": 4})))


def test_relevance_is_an_array_with_named_axes(translator):
    (found,) = translator.explain(["a dog runs"], method="gradient_times_input")
    (answer,) = translator.predict(["a dog runs"])
    source, target = found.array("source"), found.array("target")
    assert source.axes == ("item", "token")
    assert source.labels == (found.items, [" a", " dog", " runs", "</s>"])
    assert target.labels == (found.items, ["<s>", *found.items])
    assert source.values.shape == (len(found.items), 4)
    assert_close(torch.tensor(found.log_probs), torch.tensor(answer.log_probs))  # float32, as the model's are


def test_another_name_of_a_method_is_that_method(translator):
    (one,), (other,) = (translator.explain(["two cats"], method=method) for method in ("ig", "integrated_gradients"))
    assert one == other
    assert one.method == "integrated_gradients"
    assert max(one.errors()) < 0.05


def test_unknown_methods_are_told_with_the_known_ones(translator):
    with pytest.raises(ConfigError, match=r"method: there is no method 'nonsense'.*gradient_times_input"):
        translator.explain(["two cats"], method="nonsense")
    with pytest.raises(ConfigError, match=r"method.stps: there is no such setting .did you mean 'steps'"):
        translator.explain(["two cats"], method=Choice("integrated_gradients", {"stps": 3}))


def test_sides_are_shares_of_what_speaks_for_and_against():
    values = {"source": [[1.0, -2.0], [0.0, 0.0]], "target": [[1.0], [0.0]]}
    found = WordRelevance("x", ["u", "v"], {"source": ["a", "b"], "target": ["<s>"]}, values, [0.0, 0.0], [1.0, 0.0])
    assert found.sides() == {"source": [0.75, 0.0], "target": [0.25, 0.0]}
    assert found.scaled("source") == [[0.25, -0.5], [0.0, 0.0]]
    assert found.errors() == [1.0, 0.0]


def test_columns_on_scales_of_their_own_have_no_shares_of_each_other():
    values = {"source": [[1.0, 3.0]], "target": [[9.0]]}
    found = WordRelevance("x", ["u"], {"source": ["a", "b"], "target": ["<s>"]}, values, [0.0], comparable=False)
    assert found.sides() == {}
    assert found.scaled("source") == [[0.25, 0.75]]


def test_reasons_of_several_methods_stand_beside_an_explanation(translator):
    predictions = translator.predict(TEXTS, explain=True)
    found = translator.explainer.with_reasons(predictions, ["saliency", "ig"])
    for before, one in zip(predictions, found, strict=True):
        assert one.explanation.weights == before.explanation.weights
        assert list(one.explanation.reasons) == ["saliency", "integrated_gradients"]
    for method, reason in found[1].explanation.reasons.items():
        (alone,) = translator.explainer.with_relevance(predictions[1:], method)
        assert reason == alone.explanation
    told = to_json(found)["predictions"][0]["explanation"]["reasons"]
    assert [sorted(one) for one in told.values()] == [["maps", "shares", "sides", "weights"]] * 2


def test_what_has_no_explanation_has_no_reasons(translator):
    (one,) = translator.explainer.with_reasons(translator.predict(TEXTS[:1]), ["saliency"])
    assert one.explanation is None


def test_a_translation_is_shown_with_its_relevance(translator):
    predictions = translator.explainer.with_relevance(translator.predict(TEXTS), "saliency")
    for one in predictions:
        found = one.explanation
        assert found.method == "saliency"
        assert [each.kind for each in found.maps] == ["cross", "decoder"]
        assert len(found.sides["source"]) == len(found.target_tokens)
        assert_close(
            [a + b for a, b in zip(found.sides["source"], found.sides["target"], strict=True)],
            [1.0] * len(found.target_tokens),
        )
    show(predictions)
    assert to_json(predictions)["predictions"][0]["explanation"]["method"] == "saliency"


def test_a_language_model_is_shown_with_the_words_before(tokenizer):
    settings = {"dim": 8, "decoder": Choice("transformer", SMALL)}
    model = MODELS.build(Choice("language_model", settings), columns_of(text=len(tokenizer)))
    predictor = predictor_of(model, language_model_of(tokenizer), Choice("greedy", {"max_extra": 3}))
    (one,) = predictor.explainer.with_relevance(predictor.predict(["a dog"]), "gradient_times_input")
    seen = alignment_view(one.explanation)
    assert seen.columns[:3] == ["<s>", " a", " dog"]
    assert [any(row) for row in seen.weights[:2]] == [False, False]
    assert any(seen.weights[2])


def test_a_label_is_shown_with_the_words_that_speak_for_it(tokenizer):
    columns = {"text": TextColumn(tokenizer), "label": LabelColumn(["bad", "good"])}
    model = MODELS.build(Choice("classifier", {"dim": 8, "encoder": Choice("transformer", SMALL)}), columns)
    task = ClassificationTask(columns)
    predictor = Predictor(model, task, engine_of(model, task))
    (found,) = predictor.explain(["a dog runs"], method="occlusion")
    assert found.items == [predictor.predict(["a dog runs"])[0].text]
    (one,) = predictor.explainer.with_relevance(predictor.predict(["a dog runs"]), "occlusion")
    (drawn,) = one.explanation.maps
    assert_close(drawn.weights[0], found.scaled("text"))


def test_long_answers_are_weighed_in_portions(translator, monkeypatch):
    (whole,) = translator.explain(["a dog runs"], method="lrp")
    monkeypatch.setattr(relevance, "TOKENS", 20)
    (portions,) = translator.explain(["a dog runs"], method="lrp")
    assert portions.items == whole.items
    for name in ("source", "target"):
        assert_close(portions.array(name).values, whole.array(name).values)
    assert_close(portions.totals, whole.totals)


def test_a_head_links_words_in_place_of_the_last_layer(translator):
    (before,) = translator.predict(["two cats"], explain=True)
    task, found = translator.task, before.explanation
    written = len(found.maps[-1].weights[0]) - before.finished  # without the end symbol
    for head in (one for one in heads_of(found.maps) if not one.ahead):
        task.alignment_head = head
        (one,) = translator.explainer.with_attention([before])
        assert one.explanation.weights == head.weights(found.maps)[: len(found.weights)]
        assert one.explanation.alignment == align([line[:-1] for line in one.explanation.weights[:written]])


def test_another_model_explains_the_answers_of_the_first(translator):
    answers = translator.predict(TEXTS)
    found = translator.explainer.with_own_explanations(answers, ["lrp", "saliency"])
    assert [(one.source, one.text) for one in found] == [(one.source, one.text) for one in answers]
    assert [(one.explanation.method, [*one.explanation.reasons]) for one in found] == [("lrp", ["saliency"])] * 2
    scored = translator.score(TEXTS, [one.text for one in answers])
    assert [one.log_probs for one in found] == [one.log_probs for one in scored]
    assert translator.explainer.with_own_explanations(answers)[0].explanation.method == ""
