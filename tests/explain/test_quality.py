"""Quality features by hand, and what every row of the table keeps."""

import math

import numpy as np
import pytest

from regard.explain.quality import QUALITY_FEATURES
from regard.explain.quality.feature import WrittenSentence
from regard.registry import Choice

SENTENCE = WrittenSentence(
    source=4,
    log_probs=np.array([-1.0, -3.0]),
    entropies=np.array([0.5, 1.5]),
    weights=np.array([[0.5, 0.5, 0.0, 0.0], [0.5, 0.0, 0.25, 0.25]]),
    passes=np.array([-1.0, -2.0, -3.0]),
)
BY_HAND = {
    "log_prob": -2.0,
    "log_prob_spread": 1.0,
    "entropy": 1.0,
    "attention_entropy": (math.log(2) + (0.5 * math.log(2) + 0.5 * math.log(4))) / 2,
    "coverage": (math.log(1.0) + math.log(0.5) + 2 * math.log(0.25)) / 4,
    "length_ratio": math.log(2 / 4),
    "dropout_mean": -2.0,
    "dropout_variance": 2 / 3,
}


@pytest.mark.parametrize("name", QUALITY_FEATURES)
def test_every_row_by_hand(name):
    assert QUALITY_FEATURES.build(Choice(name)).value(SENTENCE) == pytest.approx(BY_HAND[name])


@pytest.mark.parametrize("name", QUALITY_FEATURES)
def test_what_a_model_does_not_tell_is_a_number_all_the_same(name):
    """No attention, no passes, and a source piece that nothing looked at."""
    bare = SENTENCE._replace(weights=np.zeros((0, 0)), passes=np.zeros(0))
    unseen = SENTENCE._replace(weights=np.array([[1.0, 0.0], [1.0, 0.0]]))
    feature = QUALITY_FEATURES.build(Choice(name))
    assert math.isfinite(feature.value(bare))
    assert math.isfinite(feature.value(unseen))


@pytest.mark.parametrize("name", QUALITY_FEATURES)
def test_only_features_of_dropout_need_its_passes(name):
    feature = QUALITY_FEATURES.build(Choice(name))
    changed = SENTENCE._replace(passes=np.array([-5.0, -9.0]))
    assert (feature.value(changed) != feature.value(SENTENCE)) == feature.needs_passes
