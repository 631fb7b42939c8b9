"""Faithfulness of explanation methods for a model: curves on its dev set, with intervals and tests."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.errors import ConfigError, DataError
from regard.evaluation.metric import Statistics
from regard.evaluation.significance import compare_statistics, interval_of
from regard.explain.relevance import RELEVANCES, Relevance
from regard.explain.relevance.method import Relevances
from regard.explain.relevance.question import Baseline, Question
from regard.models import Model
from regard.predictor import Predictor, load
from regard.records import Batch
from regard.registry import Choice
from regard.reports.report import Report
from regard.results import Prediction
from regard.runs.run import model_of
from regard.runs.texts import Say, dev_examples
from regard.tasks.examples import as_rows
from regard.tasks.relevance import question_of

FRACTIONS = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the words of a text


class Curves(NamedTuple):
    """Mean of each curve for the items (item,) of one example."""

    deletion: Tensor  # probability lost as the most relevant words are covered: more is better
    insertion: Tensor  # probability where none but these are shown: more is better


@torch.no_grad()
def curves(question: Question, relevance: Tensor, baseline: Baseline = "unknown") -> Curves:
    """Cover or show the words of the first column in the order of their relevance (item, n), a `SHARES` at a time.

    Ties keep the order of the text. Covered words are replaced by words without meaning.
    """
    shown, covers = question.vectors, question.baseline(baseline)
    count, rows = relevance.shape[1], len(shown[0]) // len(relevance)
    ranks = relevance.argsort(dim=1, descending=True, stable=True).argsort(dim=1).to(shown[0].device)
    whole = question.scores(shown).exp()
    deletion, insertion = torch.zeros_like(whole), torch.zeros_like(whole)
    for share in FRACTIONS:
        top = (ranks < math.ceil(share * count)).repeat_interleave(rows, dim=0).unsqueeze(-1)
        without = question.scores([torch.where(top, covers[0], shown[0]), *shown[1:]]).exp()
        alone = question.scores([torch.where(top, shown[0], covers[0]), *shown[1:]]).exp()
        deletion, insertion = deletion + (whole - without) / len(FRACTIONS), insertion + alone / len(FRACTIONS)
    return Curves(deletion, insertion)


def rank_correlation(one: Tensor, other: Tensor) -> Tensor:
    """Return Spearman's correlation (item,) of the relevance (item, n) of words by two explanations.

    Equal ones share their mean rank; nan where one explanation has no order.
    """
    ranks = []
    for each in (one.double(), other.double()):  # how many are smaller, those that are equal counted half
        own, others = each.unsqueeze(2), each.unsqueeze(1)
        ranks.append((own > others).double().sum(dim=2) + (own == others).double().sum(dim=2) / 2)
    first, second = (each - each.mean(dim=1, keepdim=True) for each in ranks)
    return (first * second).sum(dim=1) / (first.norm(dim=1) * second.norm(dim=1))


RANDOM, _ATTENTION = "random", "attention"  # what methods are set beside
CURVES = ("deletion", "insertion")
UNTRAINED, TWIN = "untrained", "twin"  # models whose explanations are set beside those of the run
_SURE = 0.05  # significance level


class Mean:
    """The mean over all items; statistics are (example, 2): sums and counts."""

    higher_is_better = True

    def __init__(self, name: str) -> None:
        self.name = name

    def value(self, sums: Any) -> float:
        """Return the mean over all items."""
        return float(sums[0] / max(sums[1], 1.0))


class CurveFigure(NamedTuple):
    """A mean with its 95 % interval, and p-values of its difference from random order and from attention."""

    value: float
    low: float
    high: float
    against_random: float
    against_attention: float


class Grade(NamedTuple):
    """Faithfulness of one method with one model."""

    deletion: CurveFigure
    insertion: CurveFigure
    conservation: float | None  # what the words miss of the score, as a share of it; None: nothing is promised
    correlations: Mapping[str, float] = MappingProxyType(
        {}
    )  # of the order of words, with that in other models: UNTRAINED, TWIN

    def plain(self) -> dict[str, Any]:
        """Return the same as values of JSON."""
        curves = {name: getattr(self, name)._asdict() for name in CURVES}
        return {**curves, "conservation": self.conservation, **self.correlations}


def grade_run(
    predictor: Predictor, methods: Sequence[Choice], lines: int, say: Say, twin: Path | None = None
) -> dict[str, Grade]:
    """Grade methods, by default all of RELEVANCES, on a run's answers to the first lines of its dev set.

    Each also explains the same network with random weights, whose explanations should differ
    (https://arxiv.org/abs/1810.03292), and a `twin`, a run of another seed, whose explanations of the same answers
    should be similar. Without changed settings of the run or of a method, the run keeps the figures for pages. Raises
    DataError without a dev set, ConfigError for a twin with other vocabularies.
    """
    run, others = predictor.run, _others(predictor, twin)
    examples = dev_examples(run.experiment, predictor.task, say)
    if examples is None:
        raise DataError(
            str(run.path), "has no dev set to grade explanations with", hint="data.dev names one in training"
        )
    given = as_rows({name: examples[name][:lines] for name in predictor.task.inputs})
    predictions = predictor.predict(given, safeguards=False)
    chosen = methods or [Choice(name) for name in RELEVANCES]
    found = grades(predictor, predictions, {one.name: one for one in chosen}, say, others)
    if not run.changes and not any(one.settings for one in chosen):
        run.measurements.keep_grades(len(predictions), {name: grade.plain() for name, grade in found.items()})
    return found


def _others(predictor: Predictor, twin: Path | None) -> dict[str, Model]:
    """Return the network with random weights, and that of a twin. Raises ConfigError for other vocabularies."""
    experiment, columns = predictor.run.experiment, predictor.task.learnt
    training = replace(experiment.training, seed=experiment.training.seed + 1)
    untrained = model_of(replace(experiment, training=training), columns).to(predictor.model.device).eval()
    if twin is None:
        return {UNTRAINED: untrained}
    other = load(twin, predictor.run.changes)
    known = {name: column.key() for name, column in other.task.vocabularies.items()}
    if known != {name: column.key() for name, column in columns.items()}:
        raise ConfigError(
            "--beside", f"'{twin}' has another vocabulary", "a run of the same settings with another seed"
        )
    return {UNTRAINED: untrained, TWIN: other.model}


def grades_report(
    predictor: Predictor, methods: Sequence[Choice], lines: int, say: Say, twin: Path | None = None
) -> Report:
    """Report how far methods can be trusted with a run. Raises as `grade_run` does."""
    found = grade_run(predictor, methods, lines, say, twin)
    values = {name: one.plain() for name, one in found.items()}
    return Report([], values, f"{table(found)}\n{ranking(found)}")


def grades(
    predictor: Predictor,
    predictions: Sequence[Prediction],
    methods: Mapping[str, Choice],
    say: Say,
    others: Mapping[str, Model] = MappingProxyType({}),
) -> dict[str, Grade]:
    """Grade methods by name on the answers of a model, random order among them; `say` hears of each when it is done.

    The order of words is compared with that in `others`, models of the same task, by what they stand for.
    """
    rows = predictor.encoder.encode_answered(predictions)
    batches = [predictor.task.batch([row]).to(predictor.model.device) for row in rows]
    found, errors = {RANDOM: _random(predictor, batches)}, dict[str, float | None]({RANDOM: None})
    correlations: dict[str, Mapping[str, float]] = {RANDOM: {}}
    for name, choice in {_ATTENTION: Choice(_ATTENTION), **methods}.items():
        method = RELEVANCES.build(choice)
        orders, found[name], errors[name] = _measured(predictor, batches, method)
        correlations[name] = {
            kind: _correlation(orders, _found(predictor, batches, method, other)) for kind, other in others.items()
        }
        say(f"{name}: {len(batches)} examples")
    figures = {name: [_figure(curve, found, name) for curve in CURVES] for name in found}
    return {
        name: Grade(deletion, insertion, errors[name], correlations[name])
        for name, (deletion, insertion) in figures.items()
    }


def ranking(found: Mapping[str, Grade]) -> str:
    """Return in one line the method that best predicts the effect of covering words."""
    best = max((name for name in found if name != RANDOM), key=lambda name: found[name].deletion.value)
    count, grade = len(found) - 1, found[best].deletion
    sure = "and not by chance" if grade.against_random < _SURE else "though it may be chance"
    return f"of these {count} methods, {best} best predicts the effect of covering words, {sure}"


def table(found: Mapping[str, Grade]) -> str:
    """Return Markdown, the best deletion first; * marks what differs from random order, + from attention."""
    kinds = [kind for kind in (UNTRAINED, TWIN) if any(kind in grade.correlations for grade in found.values())]
    names = ["method", "deletion", "insertion", "conservation error", *kinds]
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    for name, grade in sorted(found.items(), key=lambda pair: -pair[1].deletion.value):
        error = "" if grade.conservation is None else f"{grade.conservation:.2g}"
        known = [f"{grade.correlations[kind]:.2f}" if kind in grade.correlations else "" for kind in kinds]
        lines.append(
            f"| {' | '.join([name, _with_interval(grade.deletion), _with_interval(grade.insertion), error, *known])} |"
        )
    return "\n".join(lines)


def _with_interval(figure: CurveFigure) -> str:
    marks = "*" * (figure.against_random < _SURE) + "+" * (figure.against_attention < _SURE)
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]{marks}"


def _figure(curve: str, found: Mapping[str, Mapping[str, Statistics]], name: str) -> CurveFigure:
    mean, own = Mean(curve), found[name][curve]
    low, high = interval_of(mean, own)
    against = [compare_statistics(mean, found[other][curve], own, "").p_value for other in (RANDOM, _ATTENTION)]
    return CurveFigure(mean.value(own.sum(axis=0)), low, high, *against)


def _measured(
    predictor: Predictor, batches: Sequence[Batch], method: Relevance
) -> tuple[list[torch.Tensor], dict[str, Statistics], float | None]:
    """Return the relevance (item, n) of input words, statistics of each curve, and the conservation error."""
    orders, rows, missed, whole = list[torch.Tensor](), list[list[list[float]]](), 0.0, 0.0
    for batch, found in zip(batches, _found(predictor, batches, method, predictor.model), strict=True):
        orders.append(found.words[0])
        rows.append(_of(predictor, batch, found.words[0]))
        if found.total is not None:
            sums = torch.stack([words.sum(dim=1) for words in found.words]).sum(dim=0)
            missed += float((sums - found.total).abs().sum())
            whole += float(found.total.abs().sum())
    return orders, _by_curve(rows), missed / whole if whole else None


def _found(predictor: Predictor, batches: Sequence[Batch], method: Relevance, asked: Model) -> Iterator[Relevances]:
    """Yield the relevances of each example in a model by a method."""
    model = method.model(asked)
    for batch in batches:
        yield method.of(question_of(predictor.task, model, batch.to(model.device)))


def _correlation(orders: Sequence[torch.Tensor], others: Iterable[Relevances]) -> float:
    """Return the mean rank correlation of words over all items with an order in both; nan: none has."""
    pairs = zip(orders, others, strict=True)
    found = torch.cat([rank_correlation(one.cpu(), other.words[0].cpu()) for one, other in pairs])
    return float(found[found.isfinite()].mean())


def _random(predictor: Predictor, batches: Sequence[Batch]) -> dict[str, Statistics]:
    """Grade words in a random order, the same in every run."""
    generator, rows = torch.Generator().manual_seed(1), list[list[list[float]]]()
    for batch in batches:
        question = question_of(predictor.task, predictor.model, batch)
        relevance = torch.rand(len(question.items), question.reads[0][1].shape[1], generator=generator)
        rows.append(_of(predictor, batch, relevance))
    return _by_curve(rows)


def _of(predictor: Predictor, batch: Batch, relevance: torch.Tensor) -> list[list[float]]:
    """Return for each curve the sum over items, and their number."""
    found = curves(question_of(predictor.task, predictor.model, batch), relevance)
    return [[float(curve.sum()), float(len(curve))] for curve in found]


def _by_curve(rows: Sequence[Sequence[Sequence[float]]]) -> dict[str, Statistics]:
    whole = np.array(rows)
    return {name: whole[:, number] for number, name in enumerate(CURVES)}
