"""What a trained run is worth: its translations of the test part, scored sentence by sentence, and how fast it is.

Of a language model it is how likely it finds each line of that part, and how fast it reads.
"""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from regard.config import plain, write_whole
from regard.errors import CheckpointError, ConfigError
from regard.evaluation.scripts import words
from regard.experiment import Experiment
from regard.predictor import Predictor, load
from regard.registry import Choice
from regard.reports.compare.data import Gold, error_rate
from regard.reports.compare.log import events
from regard.reports.compare.plan import Planned
from regard.reports.compare.speeds import Point, by_the_clock, by_the_core, curve_of
from regard.reports.evaluation import count_of
from regard.reports.timing import Spent, timed
from regard.runs import RunFolder
from regard.runs.folder import ENVIRONMENT
from regard.tasks import TASKS, Examples, Measure, Outcome, Wording
from regard.training import checkpoint as files
from regard.training.final import FINAL
from regard.training.progress import METRICS_FILE

FORMAT = 3
FOLDER = "results"  # in the folder of a comparison: one file a run


class Result(NamedTuple):
    """All that is known of one trained run."""

    name: str
    seed: int
    parameters: int
    updates: int
    seconds: float  # of training, validation included, and every halt
    core_seconds: float | None  # the same in processor time, without halts; None of runs that did not count it
    tokens_per_second: float | None  # target tokens, in training; the median over its log
    tokens_per_core_second: float | None  # None also of a GPU, of which processor time tells nothing
    tokens_per_word: float  # of the targets of the test part
    sentences_per_second: float  # in translating, or reading, the test part
    sentences_per_core_second: float | None
    error_rate: float | None  # of its word alignments, in per cent
    curve: list[Point]
    texts: list[str]
    scores: list[float]  # metric by metric
    statistics: list[NDArray[np.float64]]  # metric by metric: (sentence, statistic)


class Judge(NamedTuple):
    """What all runs are judged by."""

    test: Examples
    metrics: Sequence[Measure]
    choices: Sequence[Choice]  # the metrics as settings
    steering: str  # what of the dev part the curves tell
    gold: Gold | None
    wording: Wording = Wording()

    @classmethod
    def of(cls, experiment: Experiment, test: Examples, gold: Gold | None) -> "Judge":
        """By the metrics of an experiment, BLEU where it names none; language models by what they find likely.

        Raises ConfigError for gold links of words that no model is to link.
        """
        task: Any = TASKS[experiment.task.name]
        if gold is not None and not {"source", "target"} <= task.columns.keys():
            raise ConfigError("--gold", "is for translators", "leave it out")
        choices = experiment.evaluation.metrics or (Choice("bleu"),)
        return cls(test, task.measures(choices), choices, experiment.training.metric, gold, task.wording)

    def signatures(self) -> list[str]:
        """Of the metrics."""
        return [metric.signature(self.test) for metric in self.metrics]


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
    values = {**result._asdict(), "statistics": [rows.tolist() for rows in result.statistics], "key": key}
    write_whole(path, json.dumps(values))
    return result


def _measure(planned: Planned, judge: Judge) -> Result:
    predictor = load(planned.path)
    texts, tables, spent = _judged(predictor, judge)
    latest, _ = files.latest_valid(planned.path, training=False)
    log, count = events(planned.path), count_of(judge.test)
    here = next(predictor.model.parameters()).device.type == "cpu"
    return Result(
        name=planned.name,
        seed=planned.seed,
        parameters=sum(parameter.numel() for parameter in predictor.model.parameters()),
        updates=latest.state["update"],
        seconds=latest.state["seconds"],
        core_seconds=latest.state.get("core_seconds"),
        tokens_per_second=by_the_clock(log),
        tokens_per_core_second=by_the_core(log) if _trained_on_a_cpu(planned) else None,
        tokens_per_word=_tokens_per_word(predictor, judge.test),
        sentences_per_second=count / spent.seconds,
        sentences_per_core_second=count / max(spent.core_seconds, 1e-9) if here else None,
        error_rate=None if judge.gold is None else error_rate(predictor, judge.gold),
        curve=curve_of(log, judge.steering),
        texts=texts,
        scores=[metric.value(rows.sum(axis=0)) for metric, rows in zip(judge.metrics, tables, strict=True)],
        statistics=tables,
    )


def _judged(predictor: Predictor, judge: Judge) -> tuple[list[str], list[NDArray[np.float64]], Spent]:
    """The answers to the test part, if any were asked for, and the statistics of each measure."""

    def measured(rows: Sequence[int]) -> tuple[Outcome, list[NDArray[np.float64]]]:
        outcome = predictor.outcome({name: [values[row] for row in rows] for name, values in judge.test.items()})
        return outcome, [metric.statistics(outcome) for metric in judge.metrics]

    (outcome, tables), spent = timed(measured, range(count_of(judge.test)))
    return outcome.texts, tables, spent


def _key(planned: Planned, judge: Judge) -> str:
    """Of everything the result rests on."""
    final, experiment = planned.path / FINAL, planned.contender.experiment
    if not RunFolder(planned.path).finished:
        raise CheckpointError(planned.path, "has not been trained to its end")
    settings = [plain(experiment.decoding), plain(judge.choices), judge.steering]
    speed = [experiment.device, torch.get_num_threads(), version("regard"), torch.__version__]
    gold = None
    if judge.gold is not None:
        links = [[sorted(one.sure), sorted(one.possible)] for one in judge.gold.links]
        gold = [judge.gold.sources, judge.gold.targets, links]
    rest: list[Any] = [FORMAT, final.read_text(encoding="utf-8"), settings, speed, judge.test, gold]
    log = (planned.path / METRICS_FILE).stat().st_size if (planned.path / METRICS_FILE).exists() else 0
    return hashlib.sha256(json.dumps([*rest, log]).encode()).hexdigest()


def _trained_on_a_cpu(planned: Planned) -> bool:
    """As far as it is known: a machine that has a GPU trains on it, unless the run's settings ask for the CPU."""
    if planned.contender.experiment.device == "cpu":
        return True
    with suppress(OSError, ValueError, AttributeError):
        noted = json.loads((planned.path / ENVIRONMENT).read_text(encoding="utf-8"))
        return bool(noted.get("device", "cpu") == "cpu") and planned.contender.experiment.device != "mps"
    return True


def _tokens_per_word(predictor: Predictor, test: Examples) -> float:
    """With the end of each text as a token, as training counts them; punctuation marks are words.

    A tokenizer that cuts texts anew each time they are trained on cuts them so here, too.
    """
    column, targets = predictor.task.vocabularies[predictor.task.last], test[predictor.task.last]
    cut = [column.sample(text, seed) for seed, text in enumerate(targets)]
    return sum(len(ids) + 1 for ids in cut) / max(1, sum(len(words(text)) for text in targets))
