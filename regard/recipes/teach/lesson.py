"""The trainings of `regard teach`: trials that hold corrections out, and the lesson of all."""

import json
import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from regard.config import as_values, quoted, read_checked, write_checked
from regard.config.versions import MODEL, UNPROVED
from regard.decoding import GreedySearch
from regard.errors import ConfigError
from regard.evaluation.metric import Statistics
from regard.evaluation.significance import SignificanceTest, compare_statistics, gain_p_values
from regard.experiment import Experiment, read_experiment
from regard.experiment.corrections import is_there
from regard.experiment.data import OldTextSettings
from regard.predictor import Predictor, load
from regard.recipes.corrections import LEARNED, PAIR_SIDES, TOLERANCE, Trial, keep_pairs, kept_pairs
from regard.recipes.weight_change import WeightChange, weight_copies
from regard.runs import Run, RunFolder, train_run
from regard.runs.adaptation import OLD_TEXT, signed_interval, signed_value, start_statistics
from regard.runs.measurements import ADAPTATION
from regard.runs.texts import Say, old_dev_examples, old_readers
from regard.runs.validation import Validation
from regard.tasks import Examples
from regard.tasks.task import measure_of
from regard.training import checkpoint as files
from regard.training.best_checkpoints import AVERAGE
from regard.training.clock import longest_warmup
from regard.training.interrupt import Interrupted

_TESTED = "tested.jsonl"  # beside the run of a trial
TRIALS_FILE = "trials.json"  # result of the trials: with -o an interrupted lesson does not repeat them
LESSON_DIGEST = "lesson"  # in this file: of what the result depends on
_FEW_UPDATES, _EACH, _MANY_UPDATES = 200, 4, 400  # at least; for each correction, up to so many; then one for each
_SEARCHED, _TUNED = 20_000, 4_000  # old pairs that are read; pairs of these on which the part of a change is chosen
_STANDING = 4_000  # examples of the standing set
_OLD_SHARE = 0.9  # of the batches: with a half, old text loses twice as much for the same gain
_AIM = 0.5  # of the tolerance: the loss to be expected of the part that is kept
_STEEP, _HALVINGS = 40.0, 6  # largest loss, in such losses, from which smaller ones are computed; tries to get there
LESSON_RULES = (_FEW_UPDATES, _TUNED, _STANDING, _OLD_SHARE, _AIM, _STEEP)  # an interrupted lesson goes on by the same


class TeachingRequest(NamedTuple):
    """A run, corrections of its answers, and where the result is kept."""

    run: Path
    file: Path  # as the server writes it, or a table or memory of pairs
    output: Path | None = None  # None: the next version of the run
    old: tuple[str, str] | None = None  # texts of the first training; None: the texts of the run
    changes: Sequence[str] = ()
    only_new: bool = False  # corrections of lessons that changed nothing are known, too
    again: bool = False  # corrections of undone versions are learned, too


class _Tried(NamedTuple):
    """A trial that has learned: its change, and what it is tested on."""

    change: WeightChange
    new: Validation
    old: Validation

    def statistics(self, part: float, *, old: bool = False) -> Statistics:
        """Return the statistics of a part of the change."""
        self.change.keep(part)
        return (self.old if old else self.new).rows()


class CorrectionLesson(NamedTuple):
    """The trainings of `regard teach`."""

    request: TeachingRequest
    start: Run
    folder: Path
    experiment: Experiment  # of all corrections
    digest: str  # of what the trials depend on
    say: Say

    def tested(self, parts: Sequence[Trial]) -> dict[str, Any]:
        """Run the trials, unless they are done, and return the test of their gain, and the part that was tested."""
        saved = self.folder / TRIALS_FILE
        if saved.is_file():
            return dict(read_checked(saved))
        tries = list[_Tried]()
        for number, trial in enumerate(parts, start=1):
            many = f"trial {number} of {len(parts)}: " if len(parts) > 1 else "trial: "
            self.say(f"{many}learns {len(trial.learned):,} corrections, is tested on {len(trial.tested):,} others")
            tries.append(self._trial(number, trial))
        old = self.experiment.data.old or OldTextSettings()
        part = _safe_part(tries, old.tolerance)
        self.say(f"  {part:.0%} of the change is tried: as much as old text should bear")
        measure = tries[0].new.measures[0]
        start, rows = (np.concatenate([one.statistics(some) for one in tries]) for some in (0.0, part))
        found = _values(compare_statistics(measure, start, rows, ""), len(rows))
        found |= {"p_value": gain_p_values(measure, start, [rows])[0], "part": part}
        write_checked(saved, {**found, LESSON_DIGEST: self.digest})
        return found

    def _trial(self, number: int, trial: Trial) -> _Tried:
        """Train on the corrections of a trial."""
        folder, began = self.folder / f"trial-{number}", monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        keep_pairs(folder / LEARNED, trial.learned)
        keep_pairs(folder / _TESTED, trial.tested)
        more = ["data.old.dev=null", "data.old.dev_fraction=0", *self._length()]
        experiment = lesson_experiment(self.request, self.start, folder, LEARNED, _TESTED, lambda line: None, more)
        predictor, change = self._trained(experiment)
        texts = [one.texts for one in islice(old_readers(self.experiment)[0] or (), _SEARCHED)]
        old = [[str(one[side]) for side in PAIR_SIDES] for one in texts[:: -(-len(texts) // _TUNED)]]
        shutil.rmtree(folder)
        self.say(f"  {(monotonic() - began) / 60:.1f} minutes")
        new = _validation(predictor, experiment, _examples(trial.tested.items()), experiment.training.metric)
        return _Tried(change, new, standing_set(predictor, experiment, _examples(old)))

    def _trained(self, experiment: Experiment, *, resume: bool = False) -> tuple[Predictor, WeightChange]:
        """Train, and return the start with the change of its weights."""
        report = train_run(experiment, resume=resume, quiet=True, hints=False)
        if report is None:
            raise Interrupted(f"{self.request.file.name} is not learned yet")
        if not report.updates:
            problem = "ends a training before its first update"
            raise ConfigError("training.max_minutes", problem, "a longer time, or none")
        predictor = learner(self.start.path)
        start = weight_copies(predictor.model)
        latest, _ = files.latest_valid(Path(str(experiment.run)), training=False)
        files.load_model(predictor.model, latest)
        return predictor, WeightChange(predictor.model, start, weight_copies(predictor.model))

    def learned(self, tested: Mapping[str, Any], *, resumed: bool) -> dict[str, Any]:
        """Learn all corrections, keep the tested part of the change, and return the outcome beside the standing set.

        The run gets its name after the proof: a process killed before leaves no model that nothing has tested.
        """
        self.say("learns all corrections")
        experiment = lesson_experiment(
            self.request, self.start, self.folder, LEARNED, LEARNED, lambda line: None, self._length()
        )
        predictor, change = self._trained(experiment, resume=resumed)
        change.keep(tested["part"])
        folder, old = RunFolder(self.folder / UNPROVED), experiment.data.old or OldTextSettings()
        mean = folder.path / files.FOLDER / AVERAGE
        files.remove(mean)
        files.write(mean, files.content_of(predictor.model), {"update": 0, "best": {"ranked": [], "waited": 0}})
        final = folder.path / files.FINAL
        write_checked(final, {**read_checked(final), "checkpoint": mean.name})
        validation = standing_set(predictor, experiment)
        (measure,), rows = validation.measures, validation.rows()
        test = compare_statistics(measure, start_statistics(folder)[OLD_TEXT], rows, "")
        _, high = signed_interval(measure, test)
        lost = -test.difference if measure.higher_is_better else test.difference
        kept = lost <= old.tolerance and high >= 0
        outcome = {"kept": "adapted" if kept else "start", "tolerance": old.tolerance, "new": tested,
                   OLD_TEXT: _values(test, len(rows))}  # fmt: skip
        Run.open(folder).measurements.keep(ADAPTATION, outcome)
        if kept:
            folder.path.rename(self.folder / MODEL)
        return outcome

    def _length(self) -> list[str]:
        """Return settings that are the same in trials and lesson: updates, one validation at their end, warm-up."""
        training = self.experiment.training
        schedule = {"name": training.schedule.name, **training.schedule.settings}
        if "warmup" in schedule:  # a lesson of few updates would shorten a longer one
            schedule["warmup"] = min(int(schedule["warmup"]), longest_warmup(training.validate_every))
        updates = training.max_updates
        return [f"training.schedule={json.dumps(schedule)}", f"training.max_updates={updates}",
                f"training.validate_every={updates}", "training.patience=null"]  # fmt: skip


def learner(run: Path) -> Predictor:
    """Open the network that learns: of several that answer together the first one."""
    return load(run, ["decoding.ensemble=[]", "decoding.consensus=null"])


def lesson_experiment(
    request: TeachingRequest, start: Run, folder: Path, train: str, dev: str, say: Say, more: Sequence[str] = ()
) -> Experiment:
    """Return the settings of a training on a file of the folder. Raises ConfigError where there is no old text."""
    files = {"data.train": train, "data.dev": dev}
    changes = [
        f"{part}={{name: jsonl, file: {quoted(str((folder / name).absolute()))}}}" for part, name in files.items()
    ]
    changes += [f"run={quoted(str(folder / UNPROVED))}"]
    changes += [f"data.languages={json.dumps(start.experiment.data.language_pair())}"]
    old = _old_texts(start) if request.old is None else OldTextSettings()
    old = replace(old, metric=_metric(start.experiment), tolerance=TOLERANCE, examples=_STANDING, fraction=_OLD_SHARE)
    values = as_values(old)
    if request.old is None:
        changes.append(f"data.old={json.dumps(values)}")
    else:
        both = zip(PAIR_SIDES, request.old, strict=True)
        changes += [f"data.old.train.{side}={quoted(file)}" for side, file in both]
        changes += [
            f"data.old.{name}={json.dumps(values[name])}" for name in ("metric", "tolerance", "examples", "fraction")
        ]
    count = len(kept_pairs(folder / train))
    changes.append(f"training.max_updates={max(_FEW_UPDATES, min(_EACH * count, _MANY_UPDATES), count)}")
    changes += ["data.test_fraction=0", "training.metric=loss", *request.changes, "training.average=1",
                "training.start_means=0", *more]  # fmt: skip
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


def _safe_part(tries: Sequence[_Tried], tolerance: float) -> float:
    """Return the part of the changes to keep, with which old text is expected to lose half of the tolerance.

    A loss as small as the tolerance is less than what chance does to thousands of texts. But the loss grows about with
    the square of the part (docs/results/learning.md): it is measured with a large part, one standard error is added,
    and the part follows from it. With a tolerance of 0 the part is that of the usual one: the standing set decides.
    """
    measure = tries[0].old.measures[0]

    def rows(part: float) -> Statistics:
        return np.sum([one.statistics(part, old=True) for one in tries], axis=0)  # all have the same old texts

    start, aim = rows(0.0), _AIM * (tolerance or TOLERANCE)
    for part in 0.5 ** np.arange(_HALVINGS):
        changed = rows(part)
        low, high = signed_interval(measure, compare_statistics(measure, start, changed, ""))
        lost = signed_value(measure, start) - signed_value(measure, changed) + (high - low) / 4
        if lost <= aim:
            return float(part)
        if lost <= _STEEP * aim:
            return float(part * math.sqrt(aim / lost))
    return 0.0


def _validation(predictor: Predictor, experiment: Experiment, examples: Examples, metric: str) -> Validation:
    """Return what measures greedy answers of a model."""
    task = predictor.task
    engine, tokens = task.engine(predictor.model, GreedySearch()), experiment.decoding.batch_tokens
    return Validation(predictor.model, task, engine, examples, [measure_of(task, metric)], batch_tokens=tokens)


def standing_set(predictor: Predictor, experiment: Experiment, examples: Examples | None = None) -> Validation:
    """Return what measures old text: the old dev set, unless other texts are given. Raises ConfigError without any."""
    if examples is None and (examples := old_dev_examples(experiment, predictor.task, lambda line: None)) is None:
        place = str(predictor.run.path)
        raise ConfigError(place, "has no dev set, so forgetting cannot be measured", "--old SOURCE TARGET")
    old = experiment.data.old or OldTextSettings()
    return _validation(predictor, experiment, examples, old.metric or experiment.training.metric)


def _examples(pairs: Iterable[Sequence[str]]) -> Examples:
    return dict(zip(PAIR_SIDES, zip(*pairs, strict=True), strict=True))


def _values(test: SignificanceTest, count: int) -> dict[str, Any]:
    """Return JSON values of a comparison of `count` texts."""
    return {"metric": test.a.name, "examples": count, "start": test.a.value, "selected": test.b.value,
            "difference": test.difference, "interval": [*test.interval], "p_value": test.p_value}  # fmt: skip
