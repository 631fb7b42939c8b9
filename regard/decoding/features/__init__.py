"""Features of a log-linear search. One file a row, built with nothing but its settings."""

from regard.decoding.features.coverage import CoverageFeature
from regard.decoding.features.feature import Feature
from regard.decoding.features.length import LengthFeature
from regard.decoding.features.no_repeat import NoRepeatFeature
from regard.registry import Registry

FEATURES: Registry[Feature] = Registry(
    "decoding.feature",
    {
        "coverage": CoverageFeature,
        "length": LengthFeature,
        "no_repeat": NoRepeatFeature,
    },
)

__all__ = ["FEATURES", "Feature"]
