"""A training whose time is too short for its pairs, by the relation of `regard forecast`."""

import numpy as np

from regard.experiment import Experiment, count_examples
from regard.experiment.time_plan import examples_of_update
from regard.reports.forecast.coefficients import NetworkFacts, read_coefficients

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
    few = f"about {updates:,.0f} updates in {training.max_minutes:.3g} minutes"
    return f"{few} stay below {max(high, 0.01):.0%} of what phrases reach (forecast)" if high < _FAR else ""
