"""Coefficients of a forecast, fitted to trainings that were run, and their spread; plans that they call hopeless.

A network beside phrases: log((network + 1) / (phrases + 1)) = coefficients · features, with a normal residual.
`coefficients.json` holds the coefficients; `python benchmarks/forecast_trainings.py --fit` writes it from a table of
trainings.
"""

import json
from collections.abc import Mapping
from functools import cache
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.experiment import Experiment, count_examples
from regard.experiment.time_plan import examples_of_update
from regard.reports.forecast.learning_curve import Band, LinearFit, SlopePriors

COEFFICIENTS = Path(__file__).with_name("coefficients.json")
FORECAST_SCORES = ("bleu", "chrf")
SATURATION = 300.0  # updates at which half of what updates give is reached
_ROWS, _ROWS_POWER = 64.0, 0.25  # pairs of an update: one of 16 times as many counts twice
_PAIRS = 5_000.0  # where their logarithm is 0


class NetworkFacts(NamedTuple):
    """Features of a training, known before it begins."""

    pairs: int
    updates: float
    rows: float  # pairs of an update

    def features(self) -> list[float]:
        """Return a constant, and logarithms of the saturation by updates and of the pairs."""
        updates = self.updates * (self.rows / _ROWS) ** _ROWS_POWER
        return [1.0, log(updates / (updates + SATURATION)), log(self.pairs / _PAIRS)]


class Coefficients(NamedTuple):
    """Coefficients and spreads, with the number of trainings and of data sets behind those of networks."""

    trainings: int
    data_sets: int
    network: Mapping[str, LinearFit]  # by score
    slopes: Mapping[str, SlopePriors]  # of learning curves of phrases, by score
    tuning: Mapping[str, tuple[float, float]]  # mean and deviation of log(tuned phrases / untuned ones), by score
    both: tuple[float, float]  # mean and deviation of log(both / the better) · the better / the worse
    phrases_seconds: tuple[float, float, float]  # start-up; factor of counting; translations of each dev line
    unpaired: LinearFit  # of log(BLEU + 0.1) of word-by-word translation
    unpaired_chrf: Band
    first_pairs: Mapping[int, Band]  # BLEU of phrases over the data sets, by pairs


@cache
def read_coefficients() -> Coefficients:
    """Return what `coefficients.json` holds."""
    return coefficients_of(json.loads(COEFFICIENTS.read_text(encoding="utf-8")))


def coefficients_of(found: Mapping[str, Any]) -> Coefficients:
    """Return the calibration of JSON values."""

    def fit(values: Mapping[str, Any]) -> LinearFit:
        arrays = np.array(values["coefficients"]), np.array(values["covariance"])
        return LinearFit(*arrays, values["spread"], values["freedom"])

    def pair(values: list[float]) -> tuple[float, float]:
        return values[0], values[1]

    startup, factor, per_line = found["phrases_seconds"]
    return Coefficients(
        found["trainings"],
        found["data_sets"],
        {score: fit(found["network"][score]) for score in FORECAST_SCORES},
        {score: SlopePriors(*map(pair, found["slopes"][score])) for score in FORECAST_SCORES},
        {score: pair(found["tuning"][score]) for score in FORECAST_SCORES},
        pair(found["both"]),
        (startup, factor, per_line),
        fit(found["unpaired"]),
        Band(*found["unpaired_chrf"]),
        {int(pairs): Band(*values) for pairs, values in found["first_pairs"].items()},
    )


_FAR, _SURE = 0.5, 0.9  # of the BLEU of phrases: what is far below; probability that a network stays there


def hopeless_plan(experiment: Experiment, updates: int | None) -> str:
    """Return why a new translator would stay far below phrases in its minutes; "" where it may come near.

    By the relation between `updates`, as the plan of the time has them, and the BLEU of both, sure to nine in ten.
    Nothing is forecast without a plan, of other tasks, of a run to start from and of several languages.
    """
    training, data = experiment.training, experiment.data
    if experiment.model.name != "translator" or experiment.init is not None or data.corpora or data.routes:
        return ""
    if training.max_minutes is None or updates is None or (rows := examples_of_update(experiment)) is None:
        return ""
    updates = min(updates, training.max_updates or updates)
    facts = NetworkFacts(count_examples(experiment), updates, rows)
    ratios = np.exp(read_coefficients().network["bleu"].samples(facts.features(), np.random.default_rng(1)))
    high = float(np.quantile(ratios, _SURE))
    time = f"in {training.max_minutes:.3g} minutes (about {updates:,.0f} updates)"
    share = f"at most {max(high, 0.01):.0%} of the BLEU of phrases"
    return f"{time} a network reaches {share} (forecast)" if high < _FAR else ""
