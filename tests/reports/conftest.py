"""Results of comparisons made by hand, as trained runs might give them."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tasks import statistics_of

from regard.experiment import Experiment
from regard.registry import Choice
from regard.reports.compare.measure import Evaluator, Result
from regard.reports.compare.plan import Contender, Publication
from regard.reports.compare.summary import Compared, summarise
from regard.reports.timing import ClockRate, TimeSpent
from regard.tasks import TranslationTask

WORDS = ("the", "old", "man", "reads", "a", "book", "by", "river", "and", "sees", "two", "small", "dogs")
UNPUBLISHED = Publication()


def texts(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(2, 24))) for _ in range(count)]


def spoilt(lines: Sequence[str], share: float, seed: int) -> list[str]:
    """The lines with some words exchanged for another one."""
    draw = random.Random(seed)
    return [" ".join("so" if draw.random() < share else word for word in line.split()) for line in lines]


def result(judge: Evaluator, name: str, seed: int, lines: list[str], **known: object) -> Result:
    """Of a run that wrote these lines."""
    tables = [statistics_of(metric, lines, judge.test) for metric in judge.metrics]
    scores = [metric.value(rows.sum(axis=0)) for metric, rows in zip(judge.metrics, tables, strict=True)]
    values = {
        "parameters": 2_600_000,
        "updates": 1000,
        "spent": TimeSpent(240.0 + seed, 300.0),
        "tokens": ClockRate(7000.0, 8000.0),
        "sentences": ClockRate(210.0, 220.0),
        "tokens_per_word": 1.25,
        "error_rate": None,
        "curve": [(100, 24.0, 10.0, 30.0), (200, 48.0, 20.0 + seed, 60.0)],
    }
    told = {**values, **known}
    return Result(f"{name}-seed{seed}", seed, **told, texts=lines, scores=scores, statistics=tables)


@pytest.fixture
def judge() -> Evaluator:
    pairs = {"source": texts(120, 1), "target": texts(120, 2)}
    choices = (Choice("bleu"), Choice("exact_match"))
    return Evaluator(pairs, TranslationTask.measures(choices), choices, "bleu", None, TranslationTask.spec.wording)


@pytest.fixture
def compared(judge: Evaluator) -> Callable[..., Compared]:
    """What is found of systems that spoil such a share of the words of the reference, with so many seeds.

    `known`: what each of their results says otherwise.
    """

    def make(
        shares: dict[str, float],
        seeds: int | dict[str, int] = 2,
        *,
        publication: Publication = UNPUBLISHED,
        baseline: str | None = None,
        known: dict[str, object] | None = None,
        **about: object,
    ) -> Compared:
        contenders = [Contender(name, Path(f"{name}.yaml"), (), Experiment(), publication) for name in shares]
        counts = seeds if isinstance(seeds, dict) else dict.fromkeys(shares, seeds)
        results = {
            name: [
                result(judge, name, seed, spoilt(judge.test["target"], share, seed), **(known or {}))
                for seed in range(1, counts[name] + 1)
            ]
            for name, share in shares.items()
        }
        return summarise(contenders, results, judge, baseline or next(iter(shares)), {}, about)

    return make
