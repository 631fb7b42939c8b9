"""`regard calibrate`: how sure a model is against how often it is right, and answers that are withheld."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats
from regard.data.columns import TextColumn
from regard.errors import ConfigError, DataError
from regard.evaluation import Interval, interval_of
from regard.evaluation.calibration_error import CalibrationError
from regard.evaluation.metric import Statistics
from regard.experiment import Experiment
from regard.predictor import Predictor, check_open, predictor_of
from regard.predictor.confidence import calibrated
from regard.registry import Choice
from regard.reports.quality_estimation import QualityReport, check_estimable, estimate_quality
from regard.results import Prediction
from regard.runs import Run
from regard.runs.measurements import CALIBRATION
from regard.runs.texts import Say, dev_examples, test_examples, warn_of_unknown
from regard.statistical.calibration import CALIBRATIONS, Calibration, Calibrations
from regard.tasks import Examples, Measure, Outcome, Task
from regard.tasks.examples import as_rows

_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)  # of answers that are kept
FEWEST = 50  # dev examples that a calibration is kept of
MOST_OFF = 10.0  # points of calibration error, from 0 to 100, up to which probabilities are called calibrated


class EvaluatedAnswers(NamedTuple):
    """Answers of a run to some examples, and which of them are right."""

    predictions: list[Prediction]
    right: list[list[int]]  # the right choice of each item; [] where the right answer is not a choice
    correct: list[list[bool]]  # whether each item is right
    statistics: Statistics  # (example, statistic) of the run's first measure


class Things(NamedTuple):
    """Probabilities of items of one kind, and the outcome of each."""

    name: str  # pieces, words, sentences, labels …
    given: Floats  # (thing,)
    correct: Floats  # (thing,), of a sentence the share of its items

    def statistics(self) -> Statistics:
        """Return (thing, statistic) of the calibration error."""
        return CalibrationError().of(self.given, self.correct)


class Reliability(NamedTuple):
    """Calibration error of one kind of probabilities, before and after calibration."""

    before: Things
    after: Things
    errors: tuple[float, float]  # expected calibration errors, from 0 to 100
    interval: Interval  # of the second, 95 %


class CoveragePoint(NamedTuple):
    """The most confident answers, as a point of the risk-coverage curve."""

    answers: int
    fraction: float  # of all
    lowest: float  # confidence among them
    value: float  # the figure of a measure


class AbstentionStep(NamedTuple):
    """A fraction of the answers, the most confident ones."""

    kept: CoveragePoint
    interval: Interval  # of its figure, 95 %


class ConfidenceReport(NamedTuple):
    """Results of a calibration."""

    calibration: Choice  # row of CALIBRATIONS, with what was fitted to items
    answers: Choice | None  # and to whole answers; None: they have one item each
    fitted: int  # dev examples
    evaluated: int  # examples it was evaluated on
    part: str  # which these are: dev or test
    levels: list[Reliability]
    measure: str
    curve: list[CoveragePoint]
    steps: list[AbstentionStep]
    risk: float  # AURC
    whole_risk: float  # that of answers withheld at random
    path: Path | None  # the file that keeps the calibration; None: it is not kept
    unkept: str  # why it is not
    quality: QualityReport | None = None


def uncalibrated(run: Path, changes: Sequence[str]) -> Predictor:
    """Open a run without its calibration, also with other data. Raises as `load` does."""
    check_open(_of_model(changes))
    predictor = predictor_of(Run.open(run, changes))
    predictor.setup.calibration = None
    return predictor


def _of_model(changes: Sequence[str]) -> list[str]:
    """Return the changes that are not of the data: probabilities may differ with them."""
    return [one for one in changes if not one.startswith("data.")]


def calibrate_run(
    predictor: Predictor,
    *,
    by: str | None = None,
    lines: int = 1000,
    passes: int | None = None,
    say: Say = lambda line: None,
) -> ConfidenceReport:
    """Fit a row of CALIBRATIONS, by default that of the task, on the dev set; evaluate it on the test set and save it.

    Without a test set the halves of the dev set evaluate each other. It is not saved with changed settings, other than
    of the data, for an ensemble, with fewer than FEWEST examples, or if probabilities stay more than MOST_OFF points
    off. `passes` with dropout also estimate the quality of translations. Before the first answer it raises ConfigError
    for an unknown row, answers that are not right or wrong, or quality that cannot be estimated, DataError for a
    missing data set.
    """
    run, task, experiment = predictor.run, predictor.task, predictor.run.experiment
    blank = CALIBRATIONS.build(Choice(by := by or task.answer.calibration), place="--method")
    examples, held = _parts(experiment, predictor, lines, passes, say)
    measure = task.measures(experiment.evaluation.metrics)[0]
    dev = answers_of(predictor, examples, measure, say)
    calibration = fit_calibrations(blank, task, dev)
    evaluated = dev if held is None else answers_of(predictor, held, measure, say)
    mended = _crossed(blank, task, dev) if held is None else calibrated(task, evaluated.predictions, calibration)
    levels = reliabilities(task, evaluated, mended)
    found = [None if one is None else Choice(by, one.values()) for one in calibration]
    unkept = _unkept(predictor.run, len(dev.predictions), levels)
    if not unkept:
        errors = [{"of": one.after.name, "before": one.errors[0], "after": one.errors[1]} for one in levels]
        rows = {name: one and one._asdict() for name, one in zip(Calibrations._fields, found, strict=True)}
        run.measurements.keep(CALIBRATION, {**rows, "examples": len(dev.predictions), "errors": errors})
    sure = np.array([one.confidence or 0.0 for one in mended])
    curve = abstention_curve(measure, evaluated.statistics, sure)
    wanted = None if passes is None or held is None else [(examples, dev.predictions), (held, mended)]
    return ConfidenceReport(
        Choice(by, calibration.items.values()),
        found[1],
        len(dev.predictions),
        len(mended),
        "dev" if held is None else "test",
        levels,
        measure.name,
        curve,
        abstention_steps(measure, evaluated.statistics, sure, curve),
        area_under_risk(measure, curve),
        area_under_risk(measure, curve[-1:]),
        None if unkept else run.path / CALIBRATION,
        unkept,
        None if wanted is None else estimate_quality(predictor, wanted, passes or 0, say),
    )


def _parts(
    experiment: Experiment, predictor: Predictor, lines: int, passes: int | None, say: Say
) -> tuple[Examples, Examples | None]:
    """Return the first lines of the dev set, and of the test set if any. Raises as `calibrate_run` does."""
    task = predictor.task
    if not task.answer.items:
        problem = f"the answers of '{experiment.task.name}' have no items that are right or wrong"
        raise ConfigError("task", problem, "use another run")
    dev, test = (
        None if part is None else {name: values[:lines] for name, values in part.items()}
        for part in (dev_examples(experiment, task, say), test_examples(experiment, task))
    )
    if dev is None:
        hint = "data.dev={source: FILE, target: FILE}, or data.dev=FILE of a table"
        raise DataError("data.dev", "there is no dev set to calibrate with", hint=hint)
    if test is not None:
        warn_of_unknown(task, test, "test set: the model")
    if passes is not None:
        check_estimable(predictor, dev, test)
    return dev, test


def _unkept(run: Run, examples: int, levels: Sequence[Reliability]) -> str:
    """Return why a calibration is not kept: of another model than the run's, or not good enough; "" where it is."""
    if _of_model(run.changes):
        return "settings were changed"
    decoding = run.experiment.decoding
    if decoding.other_runs or decoding.consensus is not None:
        return "it is of an ensemble, a reranking or a consensus, and a calibration is of one model"
    if examples < FEWEST:
        return f"{examples} dev examples are too few, {FEWEST} are needed: data.dev=FILE names another dev set"
    worst = max(levels, key=lambda one: one.errors[1])
    if worst.errors[1] <= MOST_OFF:
        return ""
    return (
        f"probabilities of {worst.after.name} are still {worst.errors[1]:.1f} points off, and {MOST_OFF:g} are allowed"
    )


def answers_of(predictor: Predictor, examples: Examples, measure: Measure, say: Say) -> EvaluatedAnswers:
    """Answer examples, and mark each item of an answer as right or wrong. Raises ConfigError if none can be."""
    task, rows = predictor.task, as_rows(examples)
    column = cast(TextColumn, task.vocabularies[task.last])
    say(f"answering {len(rows):,} examples")
    found = predictor.predict([{name: row[name] for name in task.inputs} for row in rows], safeguards=False)
    pairs = [(one, row[task.last]) for one, row in zip(found, rows, strict=True)]
    outcome = Outcome(examples, lambda: found, lambda: np.zeros((len(rows), 2)))
    return EvaluatedAnswers(
        [*found],
        [task.answer.right_choices(*pair, column) for pair in pairs],
        [task.answer.correct_items(*pair, column) for pair in pairs],
        measure.statistics(outcome),
    )


def fit_calibrations(blank: Calibration, task: Task, answers: EvaluatedAnswers) -> Calibrations:
    """Return the calibrations that fit items, and then whole answers, of which each item is right or not.

    Raises ConfigError where they have no probabilities.
    """
    pairs = zip(answers.predictions, answers.right, strict=True)
    known = [(task.answer.choices(one), places) for one, places in pairs if places]
    choices = [*chain.from_iterable(rows for rows, _ in known)]
    if not choices:
        raise ConfigError("task", "has no answers with probabilities of their own", "use another run")
    items = blank.fitted(np.array(choices), np.array([*chain.from_iterable(places for _, places in known)]))
    if all(len(places) == 1 for _, places in known):
        return Calibrations(items)
    mended = calibrated(task, answers.predictions, Calibrations(items))
    sure = [(one.confidence or 0.0, true) for one, some in zip(mended, answers.correct, strict=True) for true in some]
    given = np.array([[one, 1 - one] for one, _ in sure])
    return Calibrations(items, blank.fitted(given, np.array([0 if true else 1 for _, true in sure])))


def reliabilities(task: Task, answers: EvaluatedAnswers, mended: Sequence[Prediction]) -> list[Reliability]:
    """Return the calibration of the probabilities of items, of words and of whole answers.

    Kinds that are the same, such as labels and answers of a classifier, are listed once.
    """
    found = list[Reliability]()
    for before, after in zip(_things(task, answers, answers.predictions), _things(task, answers, mended), strict=True):
        if any(len(one.after.given) == len(after.given) for one in found):
            continue
        metric, rows = CalibrationError(), (before.statistics(), after.statistics())
        errors = metric.value(rows[0].sum(axis=0)), metric.value(rows[1].sum(axis=0))
        found.append(Reliability(before, after, errors, interval_of(metric, rows[1])))
    return found


def _things(task: Task, answers: EvaluatedAnswers, predictions: Sequence[Prediction]) -> list[Things]:
    """Items, words, of which all pieces have to be right, and answers, of which a share is."""
    given, correct, whole = list[list[float]](), list[list[bool]](), list[float]()
    for one, right in zip(predictions, answers.correct, strict=True):
        if right:
            given.append(one.item_probabilities() if one.confidences is None else one.confidences)
            correct.append(right)
            whole.append(one.confidence or 0.0)
    column = cast(TextColumn, task.vocabularies[task.last])
    groups = [
        task.answer.word_items(one, column) for one, right in zip(predictions, answers.correct, strict=True) if right
    ]
    words = [
        (np.prod([sure[place] for place in places]), all(true[place] for place in places))
        for sure, true, some in zip(given, correct, groups, strict=True)
        for places in some
    ]
    return [
        Things(task.answer.items, _flat(given), _flat(correct)),
        Things("words", np.array([one for one, _ in words]), np.array([one for _, one in words], dtype=np.float64)),
        Things(task.spec.wording.examples, np.array(whole), np.array([*map(np.mean, correct)])),
    ]


def _flat(rows: Sequence[Sequence[float]]) -> Floats:
    return np.array([*chain.from_iterable(rows)], dtype=np.float64)


def _crossed(blank: Calibration, task: Task, answers: EvaluatedAnswers) -> list[Prediction]:
    """Return the answers, each half (even and odd places) calibrated by the other half."""
    found = [*answers.predictions]
    for start in (0, 1):
        half = slice(1 - start, None, 2)
        other = EvaluatedAnswers(
            answers.predictions[half], answers.right[half], answers.correct[half], answers.statistics[half]
        )
        found[start::2] = calibrated(task, answers.predictions[start::2], fit_calibrations(blank, task, other))
    return found


def abstention_steps(
    measure: Measure, statistics: Statistics, sure: Floats, curve: Sequence[CoveragePoint]
) -> list[AbstentionStep]:
    order = surest_first(sure)
    counts = dict.fromkeys(max(round(share * len(order)), 1) for share in _SHARES)
    return [AbstentionStep(curve[count - 1], interval_of(measure, statistics[order[:count]])) for count in counts]


# What is kept when the least sure answers are withheld: curves of risk and coverage, https://arxiv.org/abs/1705.08500


def surest_first(confidences: Floats) -> NDArray[np.int64]:
    """confidences (example,) → the examples by falling confidence, equal ones in their order."""
    return np.argsort(-confidences, kind="stable")


def abstention_curve(measure: Measure, statistics: Statistics, confidences: Floats) -> list[CoveragePoint]:
    """statistics (example, statistic), confidences (example,) → the figure of the 1, 2 … all surest examples."""
    order = surest_first(confidences)
    sums = statistics[order].cumsum(axis=0)
    return [
        CoveragePoint(count, count / len(order), float(confidences[order[count - 1]]), measure.value(sums[count - 1]))
        for count in range(1, len(order) + 1)
    ]


def area_under_risk(measure: Measure, curve: Sequence[CoveragePoint]) -> float:
    """Return AURC: the mean over all shares kept of what a figure lacks to 100; of itself where less is better.

    With answers withheld at random it is about the risk of all.
    """
    risks = [one.value if measure.higher_is_better is False else 100 - one.value for one in curve]
    return sum(risks) / len(risks)
