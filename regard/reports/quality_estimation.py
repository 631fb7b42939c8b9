"""Quality estimation from a model's own probabilities and attention: fitted on dev, evaluated on test sentences."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
import torch

from regard.arrays import Floats
from regard.errors import ConfigError, DataError
from regard.evaluation import METRICS, Interval, interval_of
from regard.evaluation.metric import Statistics, corpus_of
from regard.explain.quality import QUALITY_FEATURES
from regard.explain.quality.feature import WrittenSentence
from regard.models import Model
from regard.predictor import Predictor
from regard.records import Batch
from regard.registry import Choice
from regard.reports.explanations import rank_correlation
from regard.results import Prediction
from regard.runs.texts import Say
from regard.tasks.examples import Examples, as_rows

RIDGE = 1.0  # of the squared weights of standardised features
_SEED = 1  # of dropout, with the number of the sentence
TOGETHER, CONFIDENCE = "all together", "confidence"


class Pearson:
    """The correlation of two numbers; statistics are (example, 6): 1, x, y, x², y², x · y."""

    name, higher_is_better = "Pearson", True

    def statistics(self, x: Floats, y: Floats) -> Statistics:
        """Return them for x (example,) and y (example,), standardised so that no digits are lost."""
        x, y = standardised(x), standardised(y)
        return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)

    def value(self, sums: Statistics) -> float:
        """Return the correlation, 0 where a side is always the same."""
        count, x, y, xx, yy, xy = sums.tolist()
        product = (count * xx - x * x) * (count * yy - y * y)
        return float((count * xy - x * y) / np.sqrt(product)) if product > 1e-9 else 0.0


class Estimate(NamedTuple):
    """Correlation of an estimate with the quality of translations."""

    name: str  # row of QUALITY_FEATURES, or what they make together
    pearson: float
    interval: Interval  # of it, 95 %
    spearman: float | None  # None where all are the same


class QualityReport(NamedTuple):
    """All estimates, the best first."""

    metric: str
    fitted: int  # dev sentences
    evaluated: int  # test sentences
    passes: int
    estimates: list[Estimate]

    def values(self) -> dict[str, Any]:
        """Return the same as JSON values."""
        return {
            **self._asdict(),
            "estimates": [{**one._asdict(), "interval": [*one.interval]} for one in self.estimates],
        }


def check_estimable(predictor: Predictor, dev: Examples, test: Examples | None) -> None:
    """Raise ConfigError for a model that does not translate, or has no probabilities of all pieces.

    Raises DataError without a test set to evaluate estimates on.
    """
    task = predictor.task
    if task.spec.translated is None:
        raise ConfigError("--quality", "is for models that translate", "leave it out")
    if test is None:
        raise DataError("data.test", "there is no test set to evaluate estimates of quality on", hint="leave it out")
    shortest = min(as_rows(dev), key=lambda row: sum(map(len, row.values())))
    try:
        with torch.inference_mode():
            predictor.model.distributions(task.batch(task.encode([shortest])).to(predictor.model.device))
    except ConfigError as error:
        problem = "needs the probabilities of all pieces, and this model has none"
        raise ConfigError("--quality", problem, "leave it out") from error


def estimate_quality(
    predictor: Predictor, parts: Sequence[tuple[Examples, Sequence[Prediction]]], passes: int, say: Say
) -> QualityReport:
    """Fit sentence chrF by all features on the first part, and correlate it on the second.

    `parts` are examples with a prediction for each, of a model that `check_estimable` lets through.
    """
    known = {name: QUALITY_FEATURES.build(Choice(name)) for name in QUALITY_FEATURES}
    features = {name: one for name, one in known.items() if passes or not one.needs_passes}
    rows, wanted, metric = list[Floats](), list[Floats](), METRICS.build(Choice("chrf"))
    for examples, predictions in parts:
        say(f"asking for {len(predictions):,} sentences how sure they are")
        seen = written_sentences(predictor, predictions, passes)
        rows.append(np.array([[one.value(sentence) for one in features.values()] for sentence in seen]))
        texts = [one.text for one in predictions]
        statistics = metric.statistics(corpus_of(texts, [row[predictor.task.last] for row in as_rows(examples)]))
        wanted.append(np.array([metric.value(one) for one in statistics]))
    values_of = dict(zip(features, rows[1].T, strict=True))
    values_of[TOGETHER] = Estimator.fitted(rows[0], wanted[0]).apply(rows[1])
    values_of[CONFIDENCE] = np.array([one.confidence or 0.0 for one in parts[1][1]])
    estimates = [_estimate(name, values, wanted[1]) for name, values in values_of.items()]
    found = sorted(estimates, key=lambda one: -abs(one.pearson))
    return QualityReport(metric.name, len(rows[0]), len(rows[1]), passes, found)


class Estimator(NamedTuple):
    """A line through standardised features, with a ridge."""

    means: Floats  # (feature,)
    scales: Floats  # (feature,)
    weights: Floats  # (feature,)
    bias: float

    @classmethod
    def fitted(cls, features: Floats, quality: Floats) -> "Estimator":
        """features (sentence, feature), quality (sentence,) → least squares; what never changes has no weight."""
        means, scales = features.mean(axis=0), features.std(axis=0)
        scales = np.where(scales > 1e-12, scales, 1.0)
        shown = (features - means) / scales
        square = shown.T @ shown + RIDGE * np.eye(shown.shape[1])
        return cls(means, scales, np.linalg.solve(square, shown.T @ (quality - quality.mean())), float(quality.mean()))

    def apply(self, features: Floats) -> Floats:
        """features (sentence, feature) → the quality to be expected (sentence,)."""
        return (features - self.means) / self.scales @ self.weights + self.bias


def written_sentences(predictor: Predictor, predictions: Sequence[Prediction], passes: int) -> list[WrittenSentence]:
    """Score each translation alone by the model: probabilities, attention, and `passes` with dropout.

    Dropout depends on the seed and the number of the sentence, not on other sentences.
    """
    task, model, found = predictor.task, predictor.model, list[WrittenSentence]()
    for number, row in enumerate(predictor.encoder.encode_answered(predictions)):
        batch = task.batch([row]).to(model.device)
        with torch.inference_mode():
            choices = model.distributions(batch)
            log_probs = choices.log_probs
            given = log_probs.gather(-1, choices.reference.unsqueeze(-1)).squeeze(-1)
            entropies = -(log_probs.exp() * log_probs.clamp(min=-1e9)).sum(dim=-1)
        [explanation] = task.explain(model, batch)
        found.append(
            WrittenSentence(
                len(row[task.first]) + 1,
                _numbers(given),
                _numbers(entropies),
                np.array(explanation.link.weights, dtype=np.float64) if explanation.link.weights else np.zeros((0, 0)),
                dropout_passes(model, task.batch([row] * passes), _SEED + number) if passes else np.zeros(0),
            )
        )
    return found


def dropout_passes(model: Model, batch: Batch, seed: int) -> Floats:
    """Return the mean log-probability (row,) of the items of each row with dropout on, as in training."""
    with _dropping(model), torch.random.fork_rng(), torch.inference_mode():
        torch.manual_seed(seed)
        here = batch.to(model.device)
        nats, counts = model.nll(here).flatten(1).sum(dim=-1), model.counted(here).flatten(1).sum(dim=-1)
        return _numbers(-nats / counts)


@contextmanager
def _dropping(model: Model) -> Iterator[None]:
    model.train()
    try:
        yield
    finally:
        model.eval()


def standardised(values: Floats) -> Floats:
    """values (example,) → with mean 0 and variance 1; of equal ones zeros."""
    spread = values.std()
    return (values - values.mean()) / (spread if spread > 1e-12 else 1.0)


def _estimate(name: str, values: Floats, quality: Floats) -> Estimate:
    measure = Pearson()
    rows = measure.statistics(values, quality)
    ranks = rank_correlation(torch.from_numpy(values)[None], torch.from_numpy(quality)[None])
    spearman = None if torch.isnan(ranks) else float(ranks)
    return Estimate(name, measure.value(rows.sum(axis=0)), interval_of(measure, rows), spearman)


def _numbers(values: Any) -> Floats:
    return cast(Floats, values.double().cpu().numpy())
