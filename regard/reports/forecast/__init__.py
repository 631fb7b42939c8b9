"""A forecast of the scores that phrases, networks and both will reach, before anything long is trained."""

from regard.reports.forecast.coefficients import FORECAST_SCORES, Coefficients, coefficients_of
from regard.reports.forecast.forecast import (
    NEAR_ZERO,
    PairsFacts,
    PilotFit,
    forecast,
    forecast_pairs,
    pairs_facts,
    pilot_fit,
)
from regard.reports.forecast.forecast_report import forecast_report
from regard.reports.forecast.learning_curve import Band, LinearFit, SlopePriors
from regard.reports.forecast.unpaired import TextsFacts, texts_facts

__all__ = [
    "FORECAST_SCORES", "NEAR_ZERO", "Band", "Coefficients", "LinearFit", "PairsFacts", "PilotFit", "SlopePriors",
    "TextsFacts", "coefficients_of", "forecast", "forecast_pairs", "forecast_report", "pairs_facts", "pilot_fit",
    "texts_facts",
]  # fmt: skip
