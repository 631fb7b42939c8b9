"""A forecast of the scores that phrases, networks and both will reach, before anything long is trained."""

from regard.reports.forecast.coefficients import FORECAST_SCORES, Coefficients, coefficients_of, read_coefficients
from regard.reports.forecast.forecast import (
    NEAR_ZERO,
    Forecast,
    PairsFacts,
    PilotFit,
    Road,
    forecast,
    forecast_pairs,
    forecast_texts,
    pairs_facts,
    pilot_fit,
    pilot_fits,
    split_pairs,
)
from regard.reports.forecast.forecast_report import forecast_report
from regard.reports.forecast.learning_curve import Band, LearningCurve, LinearFit, SlopePriors
from regard.reports.forecast.unpaired import TextsFacts, eigenvector_distance, texts_facts

__all__ = [
    "FORECAST_SCORES", "NEAR_ZERO", "Band", "Coefficients", "Forecast", "LearningCurve", "LinearFit", "PairsFacts",
    "PilotFit", "Road", "SlopePriors", "TextsFacts", "coefficients_of", "eigenvector_distance", "forecast",
    "forecast_pairs", "forecast_report", "forecast_texts", "pairs_facts", "pilot_fit", "pilot_fits",
    "read_coefficients", "split_pairs", "texts_facts",
]  # fmt: skip
