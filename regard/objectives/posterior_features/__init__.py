"""Features of whole translations that posterior regularisation asks for. One file a row."""

from regard.objectives.posterior_features.feature import PosteriorFeature
from regard.objectives.posterior_features.length_ratio import LengthRatioFeature
from regard.objectives.posterior_features.word_pairs import WordPairsFeature
from regard.registry import Registry

POSTERIOR_FEATURES: Registry[PosteriorFeature] = Registry(
    "objective.features",
    {"length_ratio": LengthRatioFeature, "word_pairs": WordPairsFeature},
    within="objective={{name: posterior_regularisation, features: {part}}}",
)
