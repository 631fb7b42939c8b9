"""Gradients of an answer: true ones, whole ones, and words that are covered."""

import pytest
import torch
from networks import columns_of
from torch.testing import assert_close
from weighted import QUESTIONS, translator

from regard.explain.relevance import RELEVANCES, Question, StateQuestion, integrated_gradients
from regard.explain.relevance.saliency import gradients
from regard.models import MODELS
from regard.records import EOS, UNK, Batch, Sequences
from regard.registry import Choice

SMALL = 1e-6


def method(name, **settings):
    return RELEVANCES.build(Choice(name, settings))


@pytest.mark.parametrize("name", QUESTIONS)
def test_gradients_are_finite_differences(name):
    question = QUESTIONS[name]()
    vectors = question.vectors
    draws = torch.Generator().manual_seed(3)
    ways = [torch.randn(one.shape, generator=draws, dtype=one.dtype) for one in vectors]
    ahead, back = (
        question.scores([one + sign * SMALL * way for one, way in zip(vectors, ways, strict=True)]) for sign in (1, -1)
    )
    slopes = gradients(question, vectors)
    found = sum((slope * way).flatten(1).sum(dim=1) for slope, way in zip(slopes, ways, strict=True))
    assert_close(found, (ahead - back).detach() / (2 * SMALL), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["translator-convs2s", "classifier-gru", "language-model-lstm"])
@pytest.mark.parametrize("baseline", ["unknown", "zero"])
def test_integrated_gradients_are_complete(name, baseline):
    question = QUESTIONS[name]()
    found = method("integrated_gradients", steps=96, baseline=baseline).of(question)
    assert_close(sum(words.sum(dim=1) for words in found.words), found.total, rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("name", QUESTIONS)
def test_steps_taken_together_are_those_taken_one_by_one(name, monkeypatch):
    question = QUESTIONS[name]()
    together = method("integrated_gradients", steps=5).of(question)
    monkeypatch.setattr(integrated_gradients, "PASS_ROWS", 1)
    for one, other in zip(together.words, method("integrated_gradients", steps=5).of(question).words, strict=True):
        assert_close(one, other)


def test_all_gradients_agree_where_the_model_is_linear():
    """log p of a linear model is not linear, but its slope near equal classes hardly moves: all methods meet there."""
    question = translator("gru")
    for parameter in question.model.heads["translate"].parameters():
        parameter.data *= 1e-5  # all words are nearly as likely, so log p is nearly linear in the states
    slopes = [slope.detach() for slope in gradients(question, question.vectors)]
    products = [(slope * one).sum(dim=-1) for slope, one in zip(slopes, question.vectors, strict=True)]
    assert_close(method("gradient_times_input").of(question).words, products)
    assert_close(method("saliency").of(question).words, [slope.norm(dim=-1) for slope in slopes])


def test_smooth_gradients_come_near_the_gradient_as_noise_vanishes():
    question = translator("transformer")
    one, other = method("smoothgrad", noise=1e-7, samples=2), method("gradient_times_input")
    assert_close(one.of(question).words, other.of(question).words, rtol=1e-4, atol=1e-5)


def test_occlusion_is_what_an_unknown_word_loses():
    question = translator("transformer")
    found = method("occlusion").of(question).words[0]
    source, target = (question.batch.sequences(name).items[:1].clone() for name in ("source", "target"))
    source[0, 2] = UNK
    columns = {"source": Sequences(source, source > 0), "target": Sequences(target, target > 0)}
    lost = question.model.nll(Batch(columns, "translate", torch.arange(1), 1)) - question.model.nll(question.batch)[:1]
    assert_close(found[:, 2], lost[0].detach())


def test_words_that_are_not_read_yet_have_no_relevance():
    question = translator("transformer")
    for name in RELEVANCES:
        own = method(name).of(question).words[1]
        assert own.triu(1).abs().max() == 0, name


def test_a_state_of_an_encoder_owes_nothing_to_the_target():
    question = translator("gru")
    state = StateQuestion(
        question.model, _one(question), ("source", "target"), "encoders.translate", torch.tensor([0, 3])
    )
    source, target = method("gradient_times_input").of(state).words
    assert source.shape == (2, 5)
    assert source.abs().sum(dim=1).min() > 0
    assert target.abs().max() == 0


def test_each_column_of_a_model_of_two_texts_is_weighed():
    model = MODELS.build(Choice("pair_classifier", {"dim": 8}), columns_of(first=13, second=13, label=3)).eval()
    rows = {name: torch.tensor([[*ids, EOS]]) for name, ids in {"first": (5, 6, 7), "second": (8,)}.items()}
    columns = {name: Sequences(items, items > 0) for name, items in rows.items()}
    batch = Batch({**columns, "label": torch.tensor([1])}, "pairs", torch.arange(1), 1)
    words = method("occlusion").of(Question(model, batch, ("first", "second"))).words
    assert [one.shape for one in words] == [(1, 4), (1, 2)]


def _one(question):
    return question.batch.select(torch.tensor([0]))
