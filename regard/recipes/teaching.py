"""`regard teach RUN FILE`: corrections of a translator's answers → a new version of its run.

Trials first learn a part of the new corrections and are tested on the rest, which gives the number of updates that
gains most, and whether the gain may be chance. Then a training learns all corrections for as many updates.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from regard.config import as_values, own_folder, quoted, read_checked, settings_file, settings_folder, write_checked
from regard.config.versions import (
    MODEL,
    current_version,
    new_version,
    use_version,
    versions_held,
)
from regard.decoding import GreedySearch
from regard.errors import ConfigError
from regard.evaluation.metric import Statistics
from regard.evaluation.significance import compare_statistics, gain_p_values
from regard.experiment import Experiment, read_experiment
from regard.experiment.corrections import is_there
from regard.experiment.data import OldTextSettings
from regard.predictor import load
from regard.recipes.corrections import (
    ATTEMPTED,
    FEWEST_CORRECTIONS,
    LEARNED,
    PAIR_SIDES,
    TOLERANCE,
    UNDONE,
    Corrected,
    Trial,
    corrected_texts,
    keep_pairs,
    kept_pairs,
    note_corrections,
    noted_corrections,
    seen_corrections,
    trials,
)
from regard.reports.report import Report
from regard.reports.table import DASH, Cell, Table
from regard.runs import Run, RunFolder, train_run
from regard.runs.adaptation import step_statistics
from regard.runs.measurements import ADAPTATION
from regard.runs.texts import Say, old_dev_examples, old_readers
from regard.runs.validation import Validation
from regard.statistical.language_checks import PlainText, check_expected_language
from regard.tasks.task import measure_of
from regard.training.clock import longest_warmup
from regard.training.interrupt import Interrupted

LARGEST_P = 0.05  # highest p-value of a gain that is kept
_TESTED = "tested.jsonl"  # beside the run of a trial
_TRIALS = "trials.json"  # result of the trials: with -o an interrupted lesson does not repeat them
_DIGEST = "lesson"  # in this file: of what the result depends on
_LEAST = 1.0  # points of the standing set; below them a loss cannot be seen
_FEW_UPDATES, _FEW = (4, 80), 100  # updates for each correction, and at least; of so few corrections
_SHOWN = 500  # corrections that are translated by both versions
_COMPARED = 2_000  # old pairs that the languages of corrections are compared with
_COLUMNS = ("texts", "pairs", "metric", "before", "after", "difference", "95 % interval")


class TeachingRequest(NamedTuple):
    """A run, corrections of its answers, and where the result is kept."""

    run: Path
    file: Path  # as the server writes it, or a table or memory of pairs
    output: Path | None = None  # None: the next version of the run
    old: tuple[str, str] | None = None  # texts of the first training; None: the texts of the run
    changes: Sequence[str] = ()
    only_new: bool = False  # corrections of lessons that changed nothing are known, too
    again: bool = False  # corrections of undone versions are learned, too


class TaughtCorrections(NamedTuple):
    """The result: whether weights have changed, and the figures before and after."""

    changed: bool
    version: int | None  # of the run that is in use now; None: a run of its own
    report: Report


def teach(request: TeachingRequest, say: Say, *, quiet: bool = False) -> TaughtCorrections:
    """Train on corrections, and keep the result if they gain beyond chance and the standing set loses nothing.

    Raises ConfigError for fewer than 10 new corrections, for a run whose old texts are missing, and for one that
    translates nothing yet; DataError for a file without corrections in the run's languages; Interrupted.
    """
    run = own_folder(request.run)
    version, start = current_version(run), settings_folder(request.run)
    settings_file(start)
    opened = Run.open(RunFolder(start))
    languages = _languages(opened)
    given = corrected_texts(request.file, languages, say)
    pairs = _without_undone(given, request, run, say)
    name = f"{request.file.name}{'' if len(pairs) == len(given) else ' without corrections of undone versions'}"
    seen = seen_corrections(start)
    known = noted_corrections(run, ATTEMPTED) if request.only_new else {}
    parts, everything = trials(name, pairs, seen, known), {**seen, **pairs}
    with ExitStack() as stack:
        digest = _digest(request, opened, parts)
        folder, resumed = _place(request, everything, digest, stack)
        keep_pairs(folder / LEARNED, everything)
        experiment = _experiment(request, opened, folder, LEARNED, LEARNED, say)
        _check_languages(request.file, everything, experiment)
        _check_standing_set(request.run, opened, experiment)
        lesson = _Lesson(request, opened, folder, experiment, digest, say)
        tested = lesson.tested(parts)
        outcome = lesson.learned(tested, resumed=resumed) if tested["best"] else {}
        changed = outcome.get("kept") == "adapted"
        report = _report(start, folder / MODEL if changed else None, everything, tested, outcome)
        if request.output is not None:
            if not changed:
                shutil.rmtree(folder)
            return TaughtCorrections(changed, None, report)
        if changed:
            use_version(run, int(folder.name), version)
            note_corrections(run, UNDONE, {}, pairs)
        else:
            note_corrections(run, ATTEMPTED, pairs, {})
            shutil.rmtree(folder)
        report.values["version"] = current_version(run)
        return TaughtCorrections(changed, current_version(run), report)


def _without_undone(pairs: Corrected, request: TeachingRequest, run: Path, say: Say) -> Corrected:
    """Return the corrections that no undone version has learned; all of them with `again`."""
    undone = {} if request.again else noted_corrections(run, UNDONE)
    kept = {text: better for text, better in pairs.items() if undone.get(text) != better}
    if count := len(pairs) - len(kept):
        say(f"left out: {count:,} of an undone version (regard redo {request.run}, or --again, takes them back)")
    return kept


def _languages(run: Run) -> tuple[str, str]:
    """Return the codes of a translator of one language pair. Raises ConfigError for any other run."""
    experiment = run.experiment
    if experiment.task.name != "translation":
        problem = f"has task {experiment.task.name}, and corrections teach a network of task translation"
        raise ConfigError(str(run.path), problem, "regard memory add keeps corrections for every translator")
    match experiment.data.language_pair():
        case (str(source), str(target)) if not experiment.data.routes:
            return source, target
    hint = "a translator whose languages are known: data.languages=[en,de] in its training"
    raise ConfigError(str(run.path), "corrections are for a translator of one language pair", hint)


def _digest(request: TeachingRequest, start: Run, parts: Sequence[Trial]) -> str:
    """Return a digest of the start weights, the request and the trials, on which the result of these depends."""
    values = [start.weights_digest, request.old, [*request.changes], parts]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def _place(request: TeachingRequest, everything: Corrected, digest: str, stack: ExitStack) -> tuple[Path, bool]:
    """Return the folder of the result, and whether an interrupted training goes on there."""
    if request.output is None:
        run = own_folder(request.run)
        stack.enter_context(versions_held(run))
        return new_version(run), False
    folder, model = request.output, RunFolder(request.output / MODEL)
    begun = kept_pairs(folder / LEARNED) == everything
    if (tested := folder / _TRIALS).is_file():  # another start or other settings have other trials
        begun = begun and read_checked(tested).get(_DIGEST) == digest
    if not begun or model.finished:
        RunFolder(folder).check_free()
    folder.mkdir(parents=True, exist_ok=True)
    return folder, (model.path / settings_file(model.path).name).is_file() if begun and model.exists else False


def _experiment(
    request: TeachingRequest, start: Run, folder: Path, train: str, dev: str, say: Say, more: Sequence[str] = ()
) -> Experiment:
    """Return the settings of a training on a file of the folder. Raises ConfigError where there is no old text."""
    files = {"data.train": train, "data.dev": dev}
    changes = [
        f"{part}={{name: jsonl, file: {quoted(str((folder / name).absolute()))}}}" for part, name in files.items()
    ]
    changes += [f"run={quoted(str(folder / MODEL))}"]
    changes += [f"data.languages={json.dumps(start.experiment.data.language_pair())}"]
    old = _old_texts(start) if request.old is None else OldTextSettings()
    values = as_values(replace(old, metric=_metric(start.experiment), tolerance=TOLERANCE, significant=True))
    if request.old is None:
        changes.append(f"data.old={json.dumps(values)}")
    else:
        both = zip(PAIR_SIDES, request.old, strict=True)
        changes += [f"data.old.train.{side}={quoted(file)}" for side, file in both]
        changes += [f"data.old.{name}={json.dumps(values[name])}" for name in ("metric", "tolerance", "significant")]
    if (count := len(kept_pairs(folder / train))) < _FEW:  # more updates only overfit
        changes.append(f"training.max_updates={max(_FEW_UPDATES[1], _FEW_UPDATES[0] * count)}")
    changes += ["data.test_fraction=0", "training.metric=loss", *request.changes, "training.average=1", *more]
    return read_experiment(None, changes, start=start.path, adapts=True, say=say)


def _metric(experiment: Experiment) -> str:
    """Return the metric of the standing set, by which the first run was selected."""
    data, own = experiment.data, experiment.training.metric
    named = data.old.metric if data.old is not None and data.old.metric else own
    return experiment.task_class.spec.metric if named in ("loss", "perplexity") else named


def _old_texts(run: Run) -> OldTextSettings:
    """Return the first texts of a run: its own, or what the run from which it was adapted names as old."""
    data = run.experiment.data
    old = data.old or OldTextSettings(data.train, data.dev, 0.0 if data.dev else data.dev_fraction, data.test_fraction)
    readers = {"train": old.train, "dev": old.dev}
    if missing := [part for part, choice in readers.items() if choice is not None and not is_there(choice)]:
        problem = f"the {' and '.join(missing)} texts of the run are not here, so forgetting cannot be measured"
        raise ConfigError(str(run.path), problem, "--old SOURCE TARGET")
    if old.train is None:
        raise ConfigError(
            str(run.path), "has no training texts, so forgetting cannot be measured", "--old SOURCE TARGET"
        )
    return old


def _check_languages(file: Path, everything: Corrected, experiment: Experiment) -> None:
    """Raise DataError for corrections whose two sides are exchanged, beside the old texts."""
    train, _ = old_readers(experiment)
    rows = [one.texts for one in islice(train or (), _COMPARED)]
    old = [PlainText(f"the old {side} text", [str(row[side]) for row in rows]) for side in PAIR_SIDES]
    for lines, (own, other) in (([*everything], old), ([*everything.values()], old[::-1])):
        check_expected_language(PlainText(str(file), lines), own, other, fewest=FEWEST_CORRECTIONS)


def _check_standing_set(run: Path, start: Run, experiment: Experiment) -> None:
    """Raise ConfigError for a run whose standing set is missing, or translated so badly that no loss can be seen."""
    predictor = load(start.path)
    model, task, old = predictor.model, predictor.task, experiment.data.old
    examples = old_dev_examples(experiment, task, lambda line: None)
    if examples is None:
        raise ConfigError(str(run), "has no dev set, so forgetting cannot be measured", "--old SOURCE TARGET")
    measure = measure_of(task, str(old.metric if old is not None else experiment.training.metric))
    if not measure.higher_is_better:
        return
    engine, tokens = task.engine(model, GreedySearch()), experiment.decoding.batch_tokens
    validation = Validation(model, task, engine, examples, [measure], batch_tokens=tokens)
    if (figure := validation.values(validation.statistics())[measure.key]) < _LEAST:
        problem = f"translates its dev set with {measure.name} {figure:.1f}: it has nothing yet that could be lost"
        hint = f"train it longer first: regard train {run} --resume; or compare its loss: data.old.metric=loss"
        raise ConfigError(str(run), problem, hint)


class _Lesson(NamedTuple):
    """The trainings of `regard teach`."""

    request: TeachingRequest
    start: Run
    folder: Path
    experiment: Experiment  # of all corrections
    digest: str  # of what the trials depend on
    say: Say

    def tested(self, parts: Sequence[Trial]) -> dict[str, Any]:
        """Run the trials, unless they are done, and return their result: the start, and every step with its p-value.

        "best" is the number of updates that gained most beyond chance; 0 where none did.
        """
        saved = self.folder / _TRIALS
        if saved.is_file():
            return dict(read_checked(saved))
        starts, steps = [], list[dict[int, Statistics]]()
        for number, trial in enumerate(parts, start=1):
            many = f"trial {number} of {len(parts)}: " if len(parts) > 1 else "trial: "
            self.say(f"{many}learns {len(trial.learned):,} corrections, is tested on {len(trial.tested):,} others")
            first, found = self._trial(number, trial)
            starts.append(first)
            steps.append(found)
        start, joined = np.concatenate(starts), joined_steps(steps)
        measure = measure_of(self.experiment.task_class, self.experiment.training.metric)
        tests = list[dict[str, Any]]()
        p_values = gain_p_values(measure, start, [*joined.values()])
        for (update, rows), p_value in zip(joined.items(), p_values, strict=True):
            test = compare_statistics(measure, start, rows, "")
            tests.append({"updates": update, "value": test.b.value, "difference": test.difference,
                          "interval": [*test.interval], "p_value": p_value})  # fmt: skip
        sure = [one for one in tests if one["p_value"] <= LARGEST_P]
        sign = 1 if measure.higher_is_better else -1
        best = max(sure, key=lambda one: sign * one["value"])["updates"] if sure else 0
        result = {"metric": measure.name, "tested": len(start), "start": measure.value(start.sum(axis=0)),
                  "steps": tests, "best": best, _DIGEST: self.digest}  # fmt: skip
        write_checked(saved, result)
        return result

    def _trial(self, number: int, trial: Trial) -> tuple[Statistics, dict[int, Statistics]]:
        """Train on the corrections of a trial; return the statistics of the others by the start, and by updates."""
        folder, began = self.folder / f"trial-{number}", monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        keep_pairs(folder / LEARNED, trial.learned)
        keep_pairs(folder / _TESTED, trial.tested)
        most = self.experiment.training.max_updates
        more = ["data.old.dev=null", "data.old.dev_fraction=0", "training.patience=null", *self._schedule()]
        more += [] if most is None else [f"training.max_updates={most}"]
        experiment = _experiment(self.request, self.start, folder, LEARNED, _TESTED, lambda line: None, more)
        report = train_run(experiment, quiet=True, hints=False)
        if report is None:
            raise Interrupted(f"{self.request.file.name} is not learned yet")
        start, steps = step_statistics(RunFolder(folder / MODEL))
        shutil.rmtree(folder)
        self.say(f"  {report.updates:,} updates in {(monotonic() - began) / 60:.1f} minutes")
        every = experiment.training.validate_every
        return start, {min(report.updates, every * step): rows for step, rows in enumerate(steps, start=1)}

    def learned(self, tested: Mapping[str, Any], *, resumed: bool) -> dict[str, Any]:
        """Learn all corrections; return the outcome beside the standing set, which is compared once, at the end."""
        best = tested["best"]
        self.say(f"learns all corrections, for {best:,} updates")
        more = [*self._schedule(), f"training.max_updates={best}", f"training.validate_every={best}"]
        experiment = _experiment(self.request, self.start, self.folder, LEARNED, LEARNED, lambda line: None, more)
        report = train_run(experiment, resume=resumed, quiet=True, hints=False)
        if report is None:
            raise Interrupted(f"{self.request.file.name} is not learned yet")
        outcome = Run.open(RunFolder(self.folder / MODEL)).measurements.kept(ADAPTATION) or {}
        return {**outcome, "step": next(one for one in tested["steps"] if one["updates"] == best)}

    def _schedule(self) -> list[str]:
        """Return settings that are the same in trials and lesson, whatever the number of updates."""
        training = self.experiment.training
        schedule = {"name": training.schedule.name, **training.schedule.settings}
        if "warmup" in schedule:  # a lesson of few updates would shorten a longer one
            schedule["warmup"] = min(int(schedule["warmup"]), longest_warmup(training.validate_every))
        return [f"training.schedule={json.dumps(schedule)}", f"training.validate_every={training.validate_every}"]


def joined_steps(trials: Sequence[Mapping[int, Statistics]]) -> dict[int, Statistics]:
    """Return the statistics of all trials by the updates that each has; a limit of time may end one earlier.

    Raises ConfigError where there are none.
    """
    shared = sorted(set[int].intersection(*map(set, trials)))
    if not shared:
        problem = "ends the trials before a validation that all of them have"
        raise ConfigError("training.max_minutes", problem, "a longer time, or none")
    return {update: np.concatenate([steps[update] for steps in trials]) for update in shared}


def _report(
    start: Path, taught: Path | None, everything: Corrected, tested: Mapping[str, Any], outcome: Mapping[str, Any]
) -> Report:
    """Return the figures before and after, and what is kept."""
    steps = tested["steps"]
    step = outcome.get("step") or min(steps, key=lambda one: one["p_value"])
    new = {"metric": tested["metric"], "examples": tested["tested"], "start": tested["start"],
           "selected": step["value"], "difference": step["difference"], "interval": step["interval"],
           "p_value": step["p_value"]}  # fmt: skip
    rows = [_row("corrections tested", new)]
    values: dict[str, Any] = {"kept": "start" if taught is None else "adapted", "learned": 0, "new": new}
    if "old" in outcome:
        rows.append(_row("standing set", outcome["old"]))
        values["old"] = outcome["old"]
    chance = f"p = {step['p_value']:.2g}"
    if taught is None:
        problem = f"the corrections tested gain no more than by chance ({chance})"
        if "old" in outcome:
            problem = f"the corrections tested gain ({chance}), but the standing set loses"
        return Report([Table(_COLUMNS, rows)], values, f"the weights stay as they were: {problem}")
    learned = dict([*everything.items()][-_SHOWN:])
    both = [[one.text for one in load(run).predict([*learned])] for run in (start, taught)]
    right = [sum(map(str.__eq__, some, learned.values())) for some in both]
    rows.append([Cell("corrections learned"), Cell(f"{len(learned):,}"), Cell("answered as corrected"),
                 *(Cell(f"{count:,}") for count in (*right, right[1] - right[0])), Cell(DASH)])  # fmt: skip
    values |= {"learned": len(everything), "as_corrected": right}
    return Report(
        [Table(_COLUMNS, rows)], values, f"the new weights are kept; gain of the corrections tested: {chance}"
    )


def _row(name: str, one: Mapping[str, Any]) -> list[Cell]:
    low, high = one["interval"]
    figures = [f"{one[name]:{sign}.2f}" for name, sign in (("start", ""), ("selected", ""), ("difference", "+"))]
    figures.append(f"{low:+.2f} to {high:+.2f}")
    return [Cell(name), Cell(f"{one['examples']:,}"), Cell(one["metric"]), *map(Cell, figures)]
