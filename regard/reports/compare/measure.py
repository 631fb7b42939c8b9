"""What a trained run is worth: its translations of the test part, scored sentence by sentence, and how fast it is.

Of a language model it is how likely it finds each line of that part, and how fast it reads.
"""

import hashlib
import json
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.config import plain, write_whole
from regard.errors import CheckpointError, ConfigError
from regard.evaluation import METRICS, Metric
from regard.evaluation.metric import corpus_of
from regard.evaluation.scripts import words
from regard.experiment import Experiment
from regard.predictor import Predictor, load
from regard.registry import Choice
from regard.reports.compare.data import Gold, error_rate
from regard.reports.compare.likelihood import LIKELIHOODS, knows_texts, likelihoods
from regard.reports.compare.plan import Planned
from regard.runs import RunFolder
from regard.runs.texts import Pairs
from regard.training import checkpoint as files
from regard.training.final import FINAL
from regard.training.progress import METRICS_FILE

FORMAT = 2
FOLDER = "results"  # in the folder of a comparison: one file a run
WARM = 8  # sentences translated before the clock starts
Point = tuple[int, float, float]  # update, seconds of training, score on the dev part


class Result(NamedTuple):
    """All that is known of one trained run."""

    name: str
    seed: int
    parameters: int
    updates: int
    seconds: float  # of training, validation included
    core_seconds: float | None  # the same in processor time; None of runs that did not count it
    tokens_per_second: float | None  # target tokens, in training; the median over its log
    tokens_per_word: float  # of the targets of the test part
    sentences_per_second: float  # in translating, or reading, the test part
    error_rate: float | None  # of its word alignments, in per cent
    curve: list[Point]
    texts: list[str]
    scores: list[float]  # metric by metric
    statistics: list[NDArray[np.float64]]  # metric by metric: (sentence, statistic)


class Judge(NamedTuple):
    """What all runs are judged by."""

    test: Pairs
    metrics: Sequence[Metric]
    choices: Sequence[Choice]  # the metrics as settings
    steering: str  # what of the dev part the curves tell
    gold: Gold | None

    @classmethod
    def of(cls, experiment: Experiment, test: Pairs, gold: Gold | None) -> "Judge":
        """By the metrics of an experiment, BLEU where it names none; language models by what they find likely.

        Raises ConfigError for gold links of words that no model is to link.
        """
        if knows_texts(experiment):
            if gold is not None:
                raise ConfigError("--gold", "is for translators", "leave it out")
            return cls(test, LIKELIHOODS, (), experiment.training.metric, None)
        choices = experiment.evaluation.metrics or (Choice("bleu"),)
        return cls(test, [METRICS.build(choice) for choice in choices], choices, experiment.training.metric, gold)

    def signatures(self) -> list[str]:
        """Of the metrics."""
        corpus = corpus_of(self.test.targets, self.test.targets, self.test.sources or None)
        return [metric.signature(corpus) for metric in self.metrics]


def measured(planned: Planned, judge: Judge) -> Result:
    """What was measured before, if nothing has changed since; else it is measured now, and kept."""
    path = planned.path.parent / FOLDER / f"{planned.name}.json"
    key = _key(planned, judge)
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept.pop("key") == key:
            tables = [np.array(rows, dtype=np.float64) for rows in kept.pop("statistics")]
            return Result(**kept, statistics=tables)
    result = _measure(planned, judge)
    path.parent.mkdir(exist_ok=True)
    told = {**result._asdict(), "statistics": [rows.tolist() for rows in result.statistics], "key": key}
    write_whole(path, json.dumps(told))
    return result


def _measure(planned: Planned, judge: Judge) -> Result:
    predictor = load(planned.path)
    texts, tables, seconds = (_read if knows_texts(planned.contender.experiment) else _translated)(predictor, judge)
    latest, _ = files.latest_valid(planned.path, training=False)
    return Result(
        name=planned.name,
        seed=planned.seed,
        parameters=sum(parameter.numel() for parameter in predictor.model.parameters()),
        updates=latest.state["update"],
        seconds=latest.state["seconds"],
        core_seconds=latest.state.get("core_seconds"),
        tokens_per_second=_speed(planned.path),
        tokens_per_word=_tokens_per_word(predictor, judge.test.targets),
        sentences_per_second=len(judge.test.targets) / seconds,
        error_rate=None if judge.gold is None else error_rate(predictor, judge.gold),
        curve=_curve(planned.path, judge.steering),
        texts=texts,
        scores=[metric.value(rows.sum(axis=0)) for metric, rows in zip(judge.metrics, tables, strict=True)],
        statistics=tables,
    )


def _translated(predictor: Predictor, judge: Judge) -> tuple[list[str], list[NDArray[np.float64]], float]:
    """Translations of the test part, their statistics for each metric, and the seconds that translating took."""
    sources, targets = judge.test
    predictor.predict(sources[:WARM])
    start = time.perf_counter()
    texts = [prediction.text for prediction in predictor.predict(sources)]
    seconds = time.perf_counter() - start
    corpus = corpus_of(texts, targets, sources)
    return texts, [metric.statistics(corpus) for metric in judge.metrics], seconds


def _read(predictor: Predictor, judge: Judge) -> tuple[list[str], list[NDArray[np.float64]], float]:
    """No texts, how likely each line of the test part is, and the seconds that reading it took."""
    model, task, lines = predictor.model, predictor.task, judge.test.targets
    likelihoods(model, task, lines[:WARM], predictor.batch_tokens)
    start = time.perf_counter()
    table = likelihoods(model, task, lines, predictor.batch_tokens)
    return [], [table] * len(judge.metrics), time.perf_counter() - start


def _key(planned: Planned, judge: Judge) -> str:
    """Of everything the result rests on."""
    final = planned.path / FINAL
    if not RunFolder(planned.path).finished:
        raise CheckpointError(planned.path, "has not been trained to its end")
    settings = [plain(planned.contender.experiment.decoding), plain(judge.choices), judge.steering]
    gold = None
    if judge.gold is not None:
        links = [[sorted(one.sure), sorted(one.possible)] for one in judge.gold.links]
        gold = [judge.gold.sources, judge.gold.targets, links]
    rest: list[Any] = [FORMAT, final.read_text(encoding="utf-8"), settings, judge.test, gold]
    log = (planned.path / METRICS_FILE).stat().st_size if (planned.path / METRICS_FILE).exists() else 0
    return hashlib.sha256(json.dumps([*rest, log]).encode()).hexdigest()


def _events(run: Path) -> list[dict[str, Any]]:
    if not (run / METRICS_FILE).is_file():
        return []
    lines = (run / METRICS_FILE).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _speed(run: Path) -> float | None:
    speeds = [event["tokens_per_second"] for event in _events(run) if event["event"] == "update"]
    return statistics.median(speeds) if speeds else None


def _tokens_per_word(predictor: Predictor, targets: Sequence[str]) -> float:
    """With the end of each text as a token, as training counts them; punctuation marks are words."""
    tokens = sum(len(ids) + 1 for ids in predictor.task.target.encode_batch(targets))
    return tokens / max(1, sum(len(words(text)) for text in targets))


def _curve(run: Path, steering: str) -> list[Point]:
    return [
        (event["update"], event["seconds"], event[steering])
        for event in _events(run)
        if event["event"] == "validation" and event.get(steering) is not None
    ]
