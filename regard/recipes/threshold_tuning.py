"""`regard tune` of the threshold that decides on answers: whether a question has one, which labels a text has."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regard.errors import DataError
from regard.predictor import check_open, predictor_of
from regard.results import Prediction
from regard.runs import Run
from regard.runs.measurements import TUNED_THRESHOLD
from regard.runs.texts import Say, dev_examples
from regard.tasks import Examples, Measure, Outcome
from regard.tasks.examples import as_rows

_MOST = 100  # thresholds that are tried


class TunedThreshold(NamedTuple):
    """The threshold with the best figure on the dev set."""

    threshold: float
    metric: str
    before: float  # the figure at the usual threshold
    after: float
    path: Path | None  # the file that keeps it; None: settings were changed, other than the metric


def decides_by_threshold(run: Path, changes: Sequence[str]) -> bool:
    """Return whether the answers of a run depend on a threshold."""
    return Run.open(run, changes).experiment.task_class.answer.threshold is not None


def tune_threshold(
    run: Path, changes: Sequence[str], *, lines: int = 1000, say: Say = lambda line: None
) -> TunedThreshold:
    """Choose the threshold with the best first metric of the run on its dev set, and keep it in the run.

    Of equal figures the threshold nearest to the usual one. Raises ConfigError where no threshold decides, before any
    prediction; DataError without a dev set, and where all its probabilities are equal.
    """
    check_open([one for one in changes if not one.startswith("data.")])
    predictor = predictor_of(opened := Run.open(run, changes))
    task, setup = predictor.task, predictor.setup
    row = task.answer.checked_threshold(task.vocabularies[task.last], "regard tune")
    setup.threshold = setup.calibration = None
    dev = dev_examples(opened.experiment, task, say)
    if dev is None:
        raise DataError("data.dev", "there is no dev set to tune with", hint="data.dev names one")
    examples = {name: values[:lines] for name, values in dev.items()}
    rows = as_rows(examples)
    say(f"answering {len(rows):,} dev examples")
    found = predictor.predict([{name: row[name] for name in task.inputs} for row in rows], safeguards=False)
    tried = thresholds([chance for one in found for chance in row.compared(one)])
    if not tried:
        raise DataError("data.dev", "all its probabilities are equal: thresholds do not differ", hint="more examples")
    (measure,) = task.measures(opened.experiment.evaluation.metrics[:1])
    measure.check(examples)
    sign = -1 if measure.higher_is_better is False else 1
    figures = {
        one: _figure(measure, examples, [row.decided(answer, one) for answer in found]) for one in (row.usual, *tried)
    }
    best = max(figures, key=lambda one: (sign * figures[one], -abs(one - row.usual)))
    values = {"threshold": best, "metric": measure.key, "before": figures[row.usual], "after": figures[best]}
    kept = all(one.startswith("evaluation.") for one in changes)
    if kept:
        opened.measurements.keep(TUNED_THRESHOLD, values)
    return TunedThreshold(
        best, measure.name, figures[row.usual], figures[best], opened.path / TUNED_THRESHOLD if kept else None
    )


def thresholds(probabilities: Sequence[float]) -> list[float]:
    """Return thresholds between different probabilities, _MOST at most, spread over their quantiles."""
    known = np.unique(probabilities)
    between = (known[1:] + known[:-1]) / 2
    if len(between) > _MOST:
        between = between[np.linspace(0, len(between) - 1, _MOST).round().astype(int)]
    return [*map(float, between)]


def _figure(measure: Measure, examples: Examples, answers: Sequence[Prediction]) -> float:
    outcome = Outcome(examples, partial(_same, answers), partial(np.zeros, (len(answers), 2)))
    return measure.value(measure.statistics(outcome).sum(axis=0))


def _same(answers: Sequence[Prediction]) -> Sequence[Prediction]:
    return answers
