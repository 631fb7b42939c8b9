"""Quality features: estimates from a model's own pass over its translation. One file a row, built with its settings."""

from regard.explain.quality.attention_entropy import AttentionEntropy
from regard.explain.quality.coverage import Coverage
from regard.explain.quality.dropout_mean import DropoutMean
from regard.explain.quality.dropout_variance import DropoutVariance
from regard.explain.quality.entropy import Entropy
from regard.explain.quality.feature import QualityFeature, WrittenSentence
from regard.explain.quality.length_ratio import LengthLogRatio
from regard.explain.quality.log_prob import LogProb
from regard.explain.quality.log_prob_spread import LogProbSpread
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

__all__ = ["QUALITY_FEATURES", "QualityFeature", "WrittenSentence"]
