"""Evaluation of a trained run: answers on the test set, example by example, speeds, learning curve, alignment."""

import hashlib
import json
import math
import statistics
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from regard.answers import LabelPrediction
from regard.config import as_values, write_atomically
from regard.data.readers.lines import read_lines
from regard.errors import CheckpointError, ConfigError, DataError
from regard.evaluation import read_gold
from regard.evaluation.alignments import GoldAlignment, alignment_error_rate
from regard.evaluation.tokenization import words
from regard.explain.alignment import align, merge_weights
from regard.explain.tokens import is_end
from regard.ops.modules import count_parameters
from regard.pieces import byte_of
from regard.predictor import Predictor, answers_and_losses, load
from regard.registry import Choice
from regard.reports.compare.plan import Contender, PlannedRun
from regard.reports.compare.progress import Event, events, spent_at
from regard.reports.timing import ClockRate, TimeSpent, timed
from regard.results import Prediction, as_line
from regard.runs import RunFolder
from regard.runs.folder import ENVIRONMENT
from regard.runs.texts import training_texts, warn_of_unknown
from regard.statistical.bag_of_words import BagOfWordsClassifier
from regard.tasks import Examples, Measure, Outcome, Wording
from regard.tasks.examples import count_of
from regard.text.word_groups import SPACES
from regard.training import checkpoint as files
from regard.training.checkpoint import FINAL, METRICS_FILE

_FORMAT = 4
BAG_TEXTS = 100_000  # training texts of the bag of words
_FOLDER = "results"  # in the folder of a comparison: one file a run
CLOCKS: dict[str, Any] = {
    "spent": TimeSpent,
    "tokens": ClockRate,
    "sentences": ClockRate,
}  # fields that are lists in JSON
_Point = tuple[int, float, float, float | None]  # update, seconds of training, score on the dev set, core seconds


class Gold(NamedTuple):
    """Sentence pairs with gold word alignments; words are separated by spaces."""

    sources: list[str]
    targets: list[str]
    links: list[GoldAlignment]


class Evaluator(NamedTuple):
    """Evaluation that all runs share."""

    test: Examples
    metrics: Sequence[Measure]
    choices: Sequence[Choice]  # the metrics as settings
    curve_metric: str  # the score on the dev set that the curves show
    gold: Gold | None
    wording: Wording = Wording()
    folds: Sequence[Examples] = ()  # the test set of each fold, one for each run

    @classmethod
    def of(
        cls, contenders: Sequence[Contender], test: Examples, gold: Gold | None, folds: Sequence[Examples] = ()
    ) -> "Evaluator":
        """Choose the metrics that all name, by default BLEU; likelihood for language models.

        Raises ConfigError for gold links without a model that aligns.
        """
        first = contenders[0].experiment
        task = first.task_class
        if gold is not None and task.spec.translated is None:
            raise ConfigError("--gold", "is for translators", "leave it out")
        choices = first.evaluation.metrics or (Choice("bleu"),)
        for measure in task.measures(choices):
            measure.check(test)
        chosen = {one.experiment.training.metric for one in contenders}
        curve_metric = chosen.pop() if len(chosen) == 1 else task.spec.metric  # the task's is in every log
        return cls(test, task.measures(choices), choices, curve_metric, gold, task.spec.wording, folds)

    def of_run(self, run: PlannedRun) -> "Evaluator":
        """Return the evaluation of a run: on its own fold, where there are folds."""
        return self._replace(test=self.folds[run.seed - 1], folds=()) if self.folds else self

    def signatures(self) -> list[str]:
        """The signature of each metric."""
        return [metric.signature(self.test) for metric in self.metrics]

    def answers(self, predictor: Predictor) -> tuple[list[str], list[NDArray[np.float64]], TimeSpent]:
        """Return the answers to the test set, if asked for, the statistics of each metric, and the time spent."""

        def answered(rows: Sequence[int]) -> tuple[Outcome, list[NDArray[np.float64]]]:
            examples = {name: [values[row] for row in rows] for name, values in self.test.items()}
            outcome = answers_and_losses(predictor, examples)
            return outcome, [metric.statistics(outcome) for metric in self.metrics]

        (outcome, tables), spent = timed(answered, range(count_of(self.test)))
        return outcome.texts, tables, spent


class Result(NamedTuple):
    """Measurements of one trained run."""

    name: str
    seed: int
    parameters: int
    updates: int
    spent: TimeSpent  # of training, validation included
    tokens: ClockRate  # in training: of answers, or of what is read for labels; the median over its log
    sentences: ClockRate  # of the test set, in translating or reading them
    tokens_per_word: float  # of the targets of the test set
    error_rate: float | None  # of its word alignments, in per cent
    curve: list[_Point]
    texts: list[str]
    scores: list[float]  # metric by metric
    statistics: list[NDArray[np.float64]]  # metric by metric: (sentence, statistic)


def bag_of_words_tables(run: PlannedRun, evaluator: Evaluator) -> list[NDArray[np.float64]] | None:
    """Return the statistics of each metric for a bag of words that learns the training texts of a run.

    None for tasks whose answer is not one label of given texts. Of many texts the first ones are learnt.
    """
    experiment = run.experiment()
    *given, label = experiment.columns.items()
    if LabelPrediction not in experiment.task_class.answer.records or {kind for _, kind in given} != {"text"}:
        return None
    names = [name for name, _ in given]
    rows = [*islice((one for one in training_texts(experiment) if one[label[0]].strip()), BAG_TEXTS)]
    labels = [row[label[0]].strip() for row in rows]
    bag = BagOfWordsClassifier.fit([[row[name] for name in names] for row in rows], labels)
    examples = [*zip(*(evaluator.test[name] for name in names), strict=True)]
    answers = []
    for texts, chances in zip(examples, bag.probabilities(examples).tolist(), strict=True):
        sure = dict(zip(bag.labels, chances, strict=True))
        best = max(sure, key=lambda name: sure[name])
        answers.append(LabelPrediction(as_line(texts), best, math.log(sure[best]), probabilities=sure))
    outcome = Outcome(evaluator.test, lambda: answers, lambda: np.zeros((len(answers), 2)))
    return [metric.statistics(outcome) for metric in evaluator.metrics]


def check_same_evaluation(contenders: Sequence[Contender]) -> None:
    """Raise ConfigError where contenders have no metric in common, or name different metrics or settings of them."""
    first, *others = contenders
    ours = first.experiment.evaluation.metrics
    for other in others:
        theirs = other.experiment.evaluation.metrics
        if as_values(theirs) != as_values(ours):
            names, first_names = (f"[{', '.join(one.name for one in some)}]" for some in (theirs, ours))
            problem = f"'{other.name}' would be evaluated by {names}, '{first.name}' by {first_names}"
            more = " of other settings" if names == first_names else ""
            raise ConfigError(
                "evaluation.metrics", problem + more, f"the same for all: evaluation.metrics={first_names}"
            )
        if other.experiment.task.name != first.experiment.task.name:
            names = f"'{other.experiment.task.name}' and '{first.experiment.task.name}'"
            raise ConfigError("task", f"{names} have no figure in common", "compare each task alone")


def measure_run(run: PlannedRun, evaluator: Evaluator) -> Result:
    """Return the stored result of an earlier call if its inputs are unchanged; else measure and store it."""
    path, key = run.path.parent / _FOLDER / f"{run.name}.json", _key(run, evaluator)
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept.pop("key") == key:
            tables = [np.array(rows, dtype=np.float64) for rows in kept.pop("statistics")]
            clocks = {name: clock(*kept.pop(name)) for name, clock in CLOCKS.items()}
            return Result(**kept, **clocks, statistics=tables)
    result = _measure(run, evaluator)
    path.parent.mkdir(exist_ok=True)
    values = {**result._asdict(), "statistics": [rows.tolist() for rows in result.statistics], "key": key}
    write_atomically(path, json.dumps(values))
    return result


def _measure(run: PlannedRun, evaluator: Evaluator) -> Result:
    predictor = load(run.path)
    warn_of_unknown(predictor.task, evaluator.test, run.name)
    texts, tables, spent = evaluator.answers(predictor)
    state = files.latest_valid(run.path, training=False)[0].state
    log = events(run.path)
    tokens, sentences = training_rate(log), spent.rate(count_of(evaluator.test))
    here = next(predictor.model.parameters()).device.type == "cpu"
    return Result(
        name=run.name,
        seed=run.seed,
        parameters=count_parameters(predictor.model),
        updates=state["update"],
        spent=TimeSpent(state["seconds"], state.get("core_seconds")),
        tokens=tokens if _trained_on_a_cpu(run) else tokens._replace(per_core_second=None),
        sentences=sentences if here else sentences._replace(per_core_second=None),
        tokens_per_word=tokens_per_word(predictor, evaluator.test),
        error_rate=None if evaluator.gold is None else error_rate(predictor, evaluator.gold),
        curve=curve_of(log, evaluator.curve_metric),
        texts=texts,
        scores=[metric.value(rows.sum(axis=0)) for metric, rows in zip(evaluator.metrics, tables, strict=True)],
        statistics=tables,
    )


def _key(run: PlannedRun, evaluator: Evaluator) -> str:
    """Return a digest of all inputs of the result."""
    final, experiment = run.path / FINAL, run.contender.experiment
    if not RunFolder(run.path).finished:
        raise CheckpointError(run.path, "has not been trained to its end")
    settings = [as_values(experiment.decoding), as_values(evaluator.choices), evaluator.curve_metric]
    speed = [experiment.device, torch.get_num_threads(), version("regard"), torch.__version__]
    gold = None
    if evaluator.gold is not None:
        links = [[sorted(one.sure), sorted(one.possible)] for one in evaluator.gold.links]
        gold = [evaluator.gold.sources, evaluator.gold.targets, links]
    rest: list[Any] = [_FORMAT, final.read_text(encoding="utf-8"), settings, speed, evaluator.test, gold]
    log = (run.path / METRICS_FILE).stat().st_size if (run.path / METRICS_FILE).exists() else 0
    return hashlib.sha256(json.dumps([*rest, log]).encode()).hexdigest()


# Speeds and curves, by the log of a training


def training_rate(log: Sequence[Event]) -> ClockRate:
    """Return tokens per second of updates, the median over the log.

    Per second of processor time it does not depend on other load; None where that was not logged.
    """
    walls = [event["tokens_per_second"] for event in log if event["event"] == "update"]
    cores = list(_core_rates(log))
    return ClockRate(*(statistics.median(values) if values else None for values in (walls, cores)))


def curve_of(log: Sequence[Event], metric: str) -> list[_Point]:
    """Return the score of every validation."""
    return [
        (event["update"], event["seconds"], event[metric], event.get("core_seconds"))
        for event in log
        if event["event"] == "validation" and event.get(metric) is not None
    ]


def _core_rates(log: Sequence[Event]) -> Iterator[float]:
    """Tokens per second of processor time, line by line.

    Older versions logged tokens per second on the wall, and both clocks at each line. A validation has a line of its
    own, so its time is in neither clock of the next.
    """
    before = TimeSpent(0.0, 0.0)
    for event in log:
        spent = spent_at(event) - before
        if event["event"] == "update" and "tokens_per_core_second" in event:
            yield event["tokens_per_core_second"]
        elif event["event"] == "update" and spent.core_seconds is not None and spent.core_seconds > 0:
            yield event["tokens_per_second"] * spent.seconds / spent.core_seconds
        before = spent_at(event)


def _trained_on_a_cpu(run: PlannedRun) -> bool:
    """Return whether a run trained on a CPU, as far as known: a GPU is used unless the settings name the CPU."""
    if run.contender.experiment.device == "cpu":
        return True
    with suppress(OSError, ValueError, AttributeError):
        noted = json.loads((run.path / ENVIRONMENT).read_text(encoding="utf-8"))
        return bool(noted.get("device", "cpu") == "cpu") and run.contender.experiment.device != "mps"
    return True


def tokens_per_word(predictor: Predictor, test: Examples) -> float:
    """Return tokens per word as counted in training: the end of each text is a token, punctuation marks are words.

    A tokenizer that samples segmentations in training (subword regularisation) samples them here, too.
    """
    task = predictor.task
    texts = [
        (task.vocabularies[name], seed, text)
        for name in task.answer.counted(task.columns)
        for seed, text in enumerate(test[name])
    ]
    pieces = sum(len(column.sample(text, seed)) + 1 for column, seed, text in texts)
    return pieces / max(1, sum(len(words(text)) for _, _, text in texts))


# Word alignments


def gold_links(path: Path, source: Path, target: Path, *, turned: bool) -> Gold:
    """Read sources, targets and links. `turned`: links are target-source. Raises DataError for wrong lines."""
    texts = [list(read_lines(file)) for file in (source, target)]
    links = read_gold(path)
    if turned:
        links = [
            GoldAlignment(*(frozenset((b, a) for a, b in some) for some in (one.sure, one.possible))) for one in links
        ]
    for file, lines in zip((source, target), texts, strict=True):
        if len(lines) != len(links):
            raise DataError(path, f"{len(links):,} lines, but {file} has {len(lines):,}")
    for number, (one, *pair) in enumerate(zip(links, *texts, strict=True), start=1):
        counts = [sum(map(bool, text.split(" "))) for text in pair]
        for link in sorted(one.possible):
            if link[0] >= counts[0] or link[1] >= counts[1]:
                shown = f"{link[0] + 1}-{link[1] + 1}"
                problem = f"link {shown} (source-target), but there are {counts[0]} and {counts[1]} words"
                hint = "--gold-turned where links say target before source"
                raise DataError(path, problem, line=number, hint=hint)
    return Gold(texts[0], texts[1], links)


def error_rate(predictor: Predictor, gold: Gold) -> float | None:
    """Return the alignment error rate in per cent, each target word linked to the source word it attends to most.

    The given targets are force-decoded. None for a model without attention to words.
    """
    pairs = [Prediction(source, target, 0.0) for source, target in zip(gold.sources, gold.targets, strict=True)]
    links = []
    for prediction in predictor.explainer.with_attention(pairs):
        found = prediction.explanation
        if found is None or not found.link.weights:
            return None
        columns, rows = (space_groups(found.column(name).texts) for name in found.link[:2])
        links.append(align(merge_weights(found.link.weights, rows, columns)))
    return 100 * alignment_error_rate(links, [one.sure for one in gold.links], [one.possible for one in gold.links])


def space_groups(tokens: Sequence[str]) -> list[list[int]]:
    """Return the pieces of each word; words are separated by spaces, and the end symbol belongs to none."""
    groups: list[list[int]] = []
    apart = True  # a space came last
    for place, token in enumerate(tokens):
        if is_end(tokens, place):
            break
        code = byte_of(token)
        text = token if code is None else chr(code)
        apart = apart or text.startswith(SPACES)
        if text.strip("".join(SPACES)):
            if apart:
                groups.append([])
            groups[-1].append(place)
            apart = text.endswith(SPACES)
    return groups
