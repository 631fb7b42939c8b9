"""Features of a log-linear search. One file a row, built with nothing but its settings."""

from regard.decoding.features.coverage import CoverageFeature
from regard.decoding.features.feature import Feature
from regard.decoding.features.language_model import LanguageModelFeature
from regard.decoding.features.length import LengthFeature
from regard.decoding.features.lexicon import LexiconFeature
from regard.decoding.features.missing_words import MissingWordsFeature
from regard.decoding.features.nearest_segments import NearestSegmentsFeature
from regard.decoding.features.ngram_model import NgramModelFeature
from regard.decoding.features.no_repeat import NoRepeatFeature
from regard.decoding.features.phrases import PhrasesFeature
from regard.decoding.features.repetition import RepetitionFeature
from regard.registry import Registry

FEATURES: Registry[Feature] = Registry(
    "decoding.feature",
    {
        "coverage": CoverageFeature,
        "language_model": LanguageModelFeature,
        "length": LengthFeature,
        "lexicon": LexiconFeature,
        "missing_words": MissingWordsFeature,
        "nearest_segments": NearestSegmentsFeature,
        "ngram_model": NgramModelFeature,
        "no_repeat": NoRepeatFeature,
        "phrases": PhrasesFeature,
        "repetition": RepetitionFeature,
    },
    within="decoding.features={part}",
)

__all__ = ["FEATURES", "Feature"]
