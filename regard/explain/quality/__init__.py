"""Quality features: estimates from a model's own pass over its translation. Built with its settings."""

from regard.explain.quality.coverage import Coverage
from regard.explain.quality.feature import QualityFeature
from regard.explain.quality.glass_box import (
    AttentionEntropy,
    DropoutMean,
    DropoutVariance,
    Entropy,
    LogProb,
    LogProbSpread,
)
from regard.explain.quality.length_ratio import LengthLogRatio
from regard.registry import Registry

QUALITY_FEATURES: Registry[QualityFeature] = Registry(
    "quality",
    {
        "attention_entropy": AttentionEntropy,
        "coverage": Coverage,
        "dropout_mean": DropoutMean,
        "dropout_variance": DropoutVariance,
        "entropy": Entropy,
        "length_ratio": LengthLogRatio,
        "log_prob": LogProb,
        "log_prob_spread": LogProbSpread,
    },
)
