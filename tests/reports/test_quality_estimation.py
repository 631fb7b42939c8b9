"""Estimates of quality: passes with dropout, correlations, and the line through all features."""

import numpy as np
import pytest
import torch
from networks import build_translator
from numpy.testing import assert_allclose
from tasks import engine_of, translation_of

from regard.predictor import Predictor
from regard.registry import Choice
from regard.reports.quality_estimation import Estimator, Pearson, dropout_passes, written_sentences
from regard.text import train_tokenizer

TEXTS = ["a dog runs", "two cats", "he reads a book"]


def predictor_of(dropout):
    tokenizer = train_tokenizer(Choice("characters"), TEXTS)
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8, "dropout": dropout})
    settings = dict(dim=8, encoder=blocks, decoder=blocks, dropout=dropout)
    model, task = build_translator(settings, len(tokenizer), len(tokenizer)), translation_of(tokenizer)
    return Predictor(model, task, engine_of(model, task, Choice("greedy", {"max_extra": 5})))


def batch_of(predictor, rows):
    return predictor.task.batch(predictor.task.encode([{"source": "a dog runs", "target": "two cats"}] * rows))


def test_without_dropout_all_passes_are_the_score():
    predictor = predictor_of(0.0)
    found = dropout_passes(predictor.model, batch_of(predictor, 3), seed=1)
    with torch.inference_mode():
        nats = predictor.model.nll(batch_of(predictor, 1))[0]
    assert_allclose(found, -float(nats.mean()), rtol=1e-5)


def test_passes_with_dropout_differ_and_come_again_by_their_seed():
    predictor = predictor_of(0.3)
    before = torch.get_rng_state()
    first, again, other = (dropout_passes(predictor.model, batch_of(predictor, 4), seed) for seed in (1, 1, 2))
    assert (first == again).all()
    assert len({*first.tolist(), *other.tolist()}) == 8
    assert not predictor.model.training
    assert torch.equal(torch.get_rng_state(), before)


def test_sentences_tell_what_was_given_to_their_pieces():
    predictor = predictor_of(0.1)
    predictions = predictor.predict(TEXTS)
    for one, found in zip(predictions, written_sentences(predictor, predictions, passes=2), strict=True):
        if one.finished:
            assert_allclose(found.log_probs, one.log_probs, atol=1e-5)
        assert found.source == len(one.source) + 1
        assert found.weights.shape == (len(found.log_probs), found.source)
        assert found.passes.shape == (2,)
        assert (found.entropies >= -found.log_probs * np.exp(found.log_probs) - 1e-6).all()  # one term of the sum


def test_a_correlation_is_that_of_numpy():
    draws = np.random.default_rng(0)
    x, y = draws.normal(size=50) + 1e4, draws.normal(size=50)
    y += x
    measure = Pearson()
    assert measure.value(measure.statistics(x, y).sum(axis=0)) == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert measure.value(measure.statistics(np.ones(50), y).sum(axis=0)) == 0.0


def test_a_line_is_found():
    """With many sentences the ridge hardly counts; a feature that never changes has no say."""
    draws = np.random.default_rng(0)
    features = np.concatenate([draws.normal(size=(2000, 2)) * [1.0, 9.0], np.full((2000, 1), 7.0)], axis=1)
    quality = 3 * features[:, 0] - 2 * features[:, 1] + 5
    assert_allclose(Estimator.fitted(features, quality).apply(features), quality, atol=0.1)
