"""Figures of runs and of files of answers on the same examples; several systems are compared with the first."""

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import torch

from regard.config import parse_changes, read_settings
from regard.data.columns.label import LabelColumn
from regard.data.readers import READERS
from regard.data.readers.label_table import field_with
from regard.data.readers.lines import read_lines
from regard.data.readers.tables import LISTED_LABELS
from regard.errors import ConfigError, DataError
from regard.evaluation import Score, interval_of
from regard.evaluation.metric import Statistics
from regard.evaluation.significance import compare_statistics
from regard.evaluation.tokenization import words
from regard.experiment import Experiment
from regard.models import Generator
from regard.pieces import UNK
from regard.predictor import Predictor, answers_and_losses, check_open, predictor_of
from regard.registry import Choice
from regard.reports.evaluation_report import Evaluation, EvaluationBucket, Robustness, System, length_buckets
from regard.reports.timing import timed
from regard.results import Prediction
from regard.runs import Run
from regard.runs.embeddings import read_embeddings
from regard.runs.texts import check_languages, test_examples, warn_of_unknown
from regard.tasks import Examples, Measure, Outcome, Task
from regard.tasks.examples import as_rows, count_of
from regard.text.perturbations import PERTURBATIONS, perturbation_of
from regard.text.perturbations.perturbation import changeable_words
from regard.text.vector_table import VectorTable

_TEXT = "text"  # the row of COLUMNS whose texts are changed
_COMPARED, _BATCH = 50, 4_096  # first pairs whose sides are exchanged on trial, and tokens of a batch of them
_LIKELIER = 0.7  # nats per piece
_OPTIONS = ("source", "target", "text")  # columns whose files `regard evaluate` names by options


PathName = PathLike[str] | str


def evaluate(
    systems: PathName | Sequence[PathName],
    files: Mapping[str, PathName] | None = None,
    *,
    source: PathName | None = None,
    target: PathName | None = None,
    text: PathName | None = None,
    changes: Sequence[str] = (),
    output: PathName | None = None,
    by_length: bool = False,
    perturbations: Sequence[Choice | str] = (),
) -> Evaluation:
    """Evaluate runs, and files of answers, by the metrics of their task, each score with its 95 % interval.

    >>> regard.evaluate(["runs/a", "runs/b"], source="test.en", target="test.de")

    Args:
        systems: Runs and files of answers, one a line. Several are compared with the first by paired bootstrap.
        files: Files of the examples by column; without them and the next three, the test set of the first run.
        source: File of the source texts.
        target: File of the references, line by line.
        text: File of texts, for language models.
        changes: Settings of the runs, as on the command line; data.test.label=FILE names another test set.
        output: File that keeps the answers of one system.
        by_length: Score by source length, too.
        perturbations: Noise in the texts, NAME[:SHARE] ("typo:0.1"), for which runs are evaluated again.

    Returns:
        Scores, intervals and seconds of each system, and p-values; printed as a table. A run that answers with 8-bit
        weights or a shortlist is also evaluated without.

    Raises:
        ConfigError: A file is not given, or a setting is wrong.
        DataError: Files differ in length, or are empty.
        CheckpointError: A run is damaged or not from Regard.
    """
    columns = {"source": source, "target": target, "text": text}
    named = {**(files or {}), **{column: file for column, file in columns.items() if file is not None}}
    paths = [Path(one) for one in ([systems] if isinstance(systems, str | PathLike) else systems)]
    noise = [perturbation_of(one) if isinstance(one, str) else one for one in perturbations]
    kept = None if output is None else Path(output)
    return _evaluate(paths, {name: Path(file) for name, file in named.items()}, changes, kept, by_length, noise)


def _evaluate(
    systems: Sequence[Path],
    files: dict[str, Path],
    changes: Sequence[str],
    output: Path | None,
    by_length: bool,
    perturbations: Sequence[Choice],
) -> Evaluation:
    if output is not None and len(systems) > 1:
        raise ConfigError("--output", f"keeps the answers of one system, not of {len(systems)}", "give one")
    runs = {path: Run.open(path, changes) for path in systems if path.is_dir()}
    experiment = _experiment(runs, changes)
    examples = _examples(runs, experiment, files)
    task = experiment.task_class
    measures = task.measures(experiment.evaluation.metrics)
    for measure in measures:
        measure.check(examples)
    changed = perturbed(perturbations, examples, task, systems)
    results = [_judged(path, runs.get(path), examples, task, measures, output) for path in systems]
    for number, path in enumerate(systems if changed else ()):
        noisy = [_judged(path, runs.get(path), one.examples, task, measures, None) for one in changed]
        pairs = zip(noisy, changed, strict=True)
        held = tuple(robustness(results[number], one, examples, other, task, measures) for one, other in pairs)
        results[number] = results[number]._replace(robustness=held)
    decoding = experiment.decoding
    if len(systems) == 1 and systems[0].is_dir() and (decoding.precision != "float32" or decoding.shortlist):
        exactly = [*changes, "decoding.precision=float32", "decoding.shortlist=false"]
        exact = _judged(systems[0], runs[systems[0]].changed(exactly), examples, task, measures, None)
        among = ", all words" if decoding.shortlist else ""
        results.insert(0, exact._replace(name=f"{exact.name} in float32{among}"))
    first, *others = results
    comparisons = [
        (other.name, compare_statistics(measure, a, b, score.signature))
        for other in others
        for measure, a, b, score in zip(measures, first.statistics, other.statistics, first.scores, strict=True)
        if measure.comparable(a, b)
    ]
    buckets = _buckets(results, examples, measures[0]) if by_length else []
    own = not files and experiment.data.test is None
    return Evaluation(count_of(examples), tuple(results), tuple(comparisons), tuple(buckets), own)


def _files_hint(columns: Sequence[str]) -> str:
    """Return the options for the files of examples, if they have any, else the settings."""
    options = all(column in _OPTIONS for column in columns)
    named = " ".join(f"--{column} FILE" if options else f"data.test.{column}=FILE" for column in columns)
    return named if options else f"data.test=table.tsv, or a file for each column: {named}"


def _place(column: str) -> str:
    """Return the name of a column's file in errors: its option if it has one, else its setting."""
    return f"--{column}" if column in _OPTIONS else f"data.test.{column}"


def _experiment(runs: Mapping[Path, Run], changes: Sequence[str]) -> Experiment:
    """Return the settings of the first run, else the defaults. Raises ConfigError for tasks with other answers."""
    if not runs:
        return read_settings(Experiment, parse_changes(changes))
    (path, first), *others = runs.items()
    for other, run in others:
        if not _judged_alike(run.experiment.task_class, first.experiment):
            names = (run.experiment.task.name, first.experiment.task.name)
            problem = f"is for the task '{names[0]}', and '{path}' for '{names[1]}'"
            raise ConfigError(str(other), problem, "evaluate each task alone")
    return first.experiment


def _judged_alike(task: type[Task], experiment: Experiment) -> bool:
    """Return whether a task has the columns, answers and measures of an experiment, as phrases have of translation."""
    other, metrics = experiment.task_class, experiment.evaluation.metrics
    if [*task.columns] != [*other.columns] or type(task.answer) is not type(other.answer):
        return False
    return [one.key for one in task.measures(metrics)] == [one.key for one in other.measures(metrics)]


def _examples(runs: Mapping[Path, Run], experiment: Experiment, files: dict[str, Path]) -> Examples:
    """Return the examples on which all systems are evaluated."""
    path, run = next(iter(runs.items()), (None, None))
    *given, target = columns = list(experiment.columns)
    for column in files:
        if column not in columns:
            raise ConfigError(
                f"--{column}", f"is not a column of the task '{experiment.task.name}'", _files_hint(columns)
            )
    if not files and run is not None and path is not None:
        task = run.task()
        found = test_examples(experiment, task)
        if found is None:
            raise ConfigError(_place(target), f"must be given: {path} names no test set", _files_hint(columns))
        _check_labels(experiment, task, found, path)
        return found
    if target not in files:
        hint = "the reference, line by line" if target in _OPTIONS else _files_hint(columns)
        raise ConfigError(_place(target), "must be given", hint)
    missing = [column for column in given if column not in files]
    if missing and run is not None:
        raise ConfigError(f"--{missing[0]}", "must be given: a run reads it", f"for {path}")
    read = {column: list(read_lines(files[column])) for column in columns if column in files}
    for column, lines in read.items():
        if len(lines) != len(read[target]):
            problem = f"{len(read[target]):,} lines, but {files[column]} has {len(lines):,}"
            raise DataError(files[target], problem)
    if not read[target]:
        raise DataError(files[target], "the file is empty")
    check_languages(experiment, Choice("parallel", {"files": {name: str(files[name]) for name in read}}))
    return read


def _check_labels(experiment: Experiment, task: Task, examples: Examples, run: Path) -> None:
    """Raise DataError for a test set without any label that the run knows: another field may hold the label."""
    choice = experiment.reader("test")
    if choice is None or task.answer.ranking is None:
        return
    labels = cast(LabelColumn, task.vocabularies[task.last]).labels
    if any(label.strip() in labels for label in examples[task.last]):
        return
    place = READERS.build(choice, tuple(experiment.columns)).place
    problem = f"{run} knows no label of its {count_of(examples):,} examples"
    read = (choice.settings.get("fields") or {}).get(task.last)
    found = field_with(Path(place), choice.name, labels) if read is not None else None
    if found in (None, read):
        raise DataError(place, problem, hint=f"it knows {', '.join(labels[:LISTED_LABELS])}")
    hint = f"data.test={{name: {choice.name}, file: …, fields: {{{task.last}: {found}, …}}}}"
    raise DataError(place, f"{problem}: {task.last} read from field {read}; field {found} looks like it", hint=hint)


def _judged(
    path: Path,
    run: Run | None,
    examples: Examples,
    task: type[Task],
    measures: Sequence[Measure],
    output: Path | None,
) -> System:
    """Return the results of a run or a file on the examples."""
    outcome, seconds, threshold = _outcome(path, run, examples, measures)
    if output is not None:
        lines = (answer.text.replace("\n", " ") for answer in outcome.answers)
        output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    statistics = tuple(measure.statistics(outcome) for measure in measures)
    scores = tuple(
        Score(measure.name, measure.value(rows.sum(axis=0)), measure.signature(examples), measure.higher_is_better)
        for measure, rows in zip(measures, statistics, strict=True)
    )
    intervals = tuple(interval_of(measure, rows) for measure, rows in zip(measures, statistics, strict=True))
    texts, references = outcome.texts, examples[[*task.columns][-1]]
    confusion = task.answer.confusion(texts, references)
    return System(str(path), scores, intervals, statistics, seconds, confusion, texts, threshold=threshold)


def _outcome(
    path: Path, run: Run | None, examples: Examples, measures: Sequence[Measure]
) -> tuple[Outcome, float | None, float | None]:
    """Return the outcome, and the seconds and the threshold of a run."""
    if run is not None:
        check_open([change for change in run.changes if not change.startswith("data.test")])
        predictor = predictor_of(run)
        warn_of_unknown(predictor.task, examples, str(path))
        if sides_exchanged(predictor, examples):
            problem = "source and target seem exchanged: the model finds the first pairs likelier the other way round"
            warnings.warn(f"{path}: {problem}; check --source and --target", stacklevel=2)

        def measured(rows: Sequence[int]) -> Outcome:
            wanted = {name: [values[row] for row in rows] for name, values in examples.items()}
            some = answers_and_losses(predictor, wanted)
            for measure in measures:
                measure.statistics(some)  # computes what it needs, and nothing else
            return some

        outcome, spent = timed(measured, range(count_of(examples)))
        return outcome, spent.seconds, predictor.setup.threshold

    def answers() -> list[Prediction]:
        found = [Prediction("", line, 0.0) for line in read_lines(path)]
        if len(found) != count_of(examples):
            raise DataError(path, f"{len(found):,} lines, but the reference has {count_of(examples):,}")
        return found

    def unknown() -> Statistics:
        raise ConfigError(str(path), "is a file of translations: a likelihood needs a model", "give a run")

    return Outcome(examples, answers, unknown), None, None


def sides_exchanged(predictor: Predictor, examples: Examples) -> bool:
    """Return whether a translator finds the first pairs likelier with the sides exchanged, without more unknowns."""
    task, first, last = predictor.task, predictor.task.spec.translated, predictor.task.last
    if first is None or {*examples} != {first, last} or not isinstance(predictor.model, Generator):
        return False
    limit, columns = predictor.model.max_source, [task.vocabularies[name] for name in (first, last)]

    def fits(texts: Sequence[str]) -> bool:
        return limit is None or all(len(column.encode(text)) < limit for column in columns for text in texts)

    rows = [*filter(fits, zip(examples[first][:_COMPARED], examples[last][:_COMPARED], strict=True))]
    if not rows:
        return False
    given = {first: [one for one, _ in rows], last: [other for _, other in rows]}
    nats, unknown = list[float](), list[int]()
    with torch.inference_mode():
        for pairs in (given, {first: given[last], last: given[first]}):
            batches = [batch.to(predictor.model.device) for batch in task.held(pairs, _BATCH)]
            found = task.losses(predictor.model, batches, pairs).sum(axis=0)
            nats.append(found[0] / max(1.0, found[1]))
            unknown.append(sum(int((batch.sequences(name).items == UNK).sum()) for batch in batches for name in pairs))
    return nats[1] + _LIKELIER < nats[0] and unknown[1] <= unknown[0]


def _buckets(systems: Sequence[System], examples: Examples, measure: Measure) -> list[EvaluationBucket]:
    first = next(iter(examples.values()))
    buckets = []
    for name, rows in length_buckets([len(words(text)) for text in first]):
        values = tuple(measure.value(np.sum(one.statistics[0][rows], axis=0)) for one in systems)
        buckets.append(EvaluationBucket(name, len(rows), values))
    return buckets


# How answers hold when the texts that are read are changed a little (https://aclanthology.org/P18-1163, section 4)


class Perturbed(NamedTuple):
    """Examples whose texts were changed."""

    name: str  # of the change, with its share of words
    examples: Examples


def perturbed(
    choices: Sequence[Choice], examples: Examples, task: type[Task], systems: Sequence[Path]
) -> list[Perturbed]:
    """Return the examples as changed by each perturbation; reference answers stay.

    Synonyms are near words by the vectors of the first run, among the words of the examples. Raises ConfigError for a
    system that is not a run, for a task without running text, and for wrong settings.
    """
    if not choices:
        return []
    files = [path for path in systems if not path.is_dir()]
    if files:
        raise ConfigError("--perturb", f"'{files[0]}' is a file, whose answers cannot change", "give runs")
    columns = [name for name, kind in list(task.columns.items())[:-1] if kind == _TEXT]
    if not columns:
        raise ConfigError("--perturb", "changes running text that is read, and this task reads none", "leave it out")

    def vectors() -> VectorTable:
        table = read_embeddings(systems[0], columns[0]).table
        known = {word for name in columns for text in examples[name] for word in changeable_words(text)}
        kept = [place for place, word in enumerate(table.words) if word in known]
        return VectorTable([table.words[place] for place in kept], table.vectors[np.array(kept, np.intp)])

    found = []
    for choice in choices:
        perturbation = PERTURBATIONS.build(choice, vectors)
        changed = {
            name: [perturbation(text, len(columns) * line + place) for line, text in enumerate(examples[name])]
            for place, name in enumerate(columns)
        }
        found.append(Perturbed(f"{choice.name}:{perturbation.probability:g}", {**examples, **changed}))
    return found


def robustness(
    clean: System, noisy: System, given: Examples, changed: Perturbed, task: type[Task], measures: Sequence[Measure]
) -> Robustness:
    """Return how a run's figures and answers change with its texts."""
    tests = tuple(
        compare_statistics(measure, a, b, score.signature)
        for measure, a, b, score in zip(measures, clean.statistics, noisy.statistics, noisy.scores, strict=True)
    )
    texts = sum(one != other for one, other in zip(as_rows(given), as_rows(changed.examples), strict=True))
    answers = sum(one != other for one, other in zip(clean.answers, noisy.answers, strict=True))
    count = count_of(given)
    agreement = _agreement(clean, noisy, changed, measures[0]) if task.answer.written else None
    return Robustness(changed.name, texts / count, tests, answers / count, agreement)


def _agreement(clean: System, noisy: System, changed: Perturbed, measure: Measure) -> Score:
    """Return the first metric of the noisy answers with the clean answers as references."""
    examples = {**changed.examples, list(changed.examples)[-1]: clean.answers}
    answers = [Prediction("", text, 0.0) for text in noisy.answers]
    outcome = Outcome(examples, lambda: answers, lambda: noisy.statistics[0])
    value = measure.value(measure.statistics(outcome).sum(axis=0))
    return Score(measure.name, value, measure.signature(examples), measure.higher_is_better)
