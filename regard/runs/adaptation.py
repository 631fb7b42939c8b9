"""Validation of a run that starts from another one: new and old text, each compared with the start."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.config import read_checked, write_checked
from regard.errors import CheckpointError
from regard.evaluation.metric import Statistics
from regard.evaluation.significance import SignificanceTest, compare_statistics
from regard.runs.folder import RunFolder
from regard.runs.validation import Validation
from regard.tasks import Measure
from regard.tasks.examples import count_of
from regard.training import checkpoint as files

START_FILE = "start.json"  # statistics of the initial weights on the dev sets
CHOICE = "choice"  # the selection criterion among the scores of a validation
_NEW, OLD_TEXT = "new", "old"
_DIGEST = "old_texts"  # of the old dev set and its metric, in the file of the start
_BEHIND = 1e-6  # points


class OldText(NamedTuple):
    """The old dev set, its metric, and the loss that is allowed on it."""

    validation: Validation
    measure: Measure
    tolerance: float  # in points of the metric

    def digest(self) -> str:
        """Return a digest of the texts and the metric: all that statistics depend on, beside the weights."""
        texts = {column: [*map(str, texts)] for column, texts in self.validation.examples.items()}
        return hashlib.sha256(json.dumps([self.measure.key, texts], sort_keys=True).encode()).hexdigest()


class AdaptationOutcome(NamedTuple):
    """The result of an adaptation: the start and the selected weights on the dev sets."""

    adapted: bool  # False: the weights of the start are kept
    tests: Mapping[str, SignificanceTest]  # by text, new and old, from the start to the selected weights
    counts: Mapping[str, int]  # examples
    tolerance: float | None  # allowed loss on old text; None: there is no old text

    def lines(self) -> list[str]:
        """Return the result as text: the figures, and which weights are kept."""
        found = [f"{name} text ({self.counts[name]:,} examples): {test}" for name, test in self.tests.items()]
        if not self.adapted:
            found = [f"{line.partition(' → ')[0]}" for line in found]
            bound = (
                ""
                if self.tolerance is None
                else f" within a loss of {self.tolerance:g} on old text (data.old.tolerance)"
            )
            return [*found, f"no checkpoint beats the start on new text{bound}: its weights are kept"]
        low, high = self.tests[_NEW].interval
        sure = "" if low > 0 or high < 0 else ": the gain on new text may be chance"
        return [*found, f"the adapted weights are kept{sure}"]

    def values(self) -> dict[str, Any]:
        """Return JSON values."""
        texts = {
            name: {"metric": test.a.name, "examples": self.counts[name], "start": test.a.value,
                   "selected": test.b.value, "difference": test.difference, "interval": list(test.interval),
                   "p_value": test.p_value}
            for name, test in self.tests.items()
        }  # fmt: skip
        return {"kept": "adapted" if self.adapted else "start", "tolerance": self.tolerance, **texts}


class Adaptation:
    """Called by the trainer: metrics of the new and of the old dev set.

    Checkpoints are selected by the metric on new text. One that loses more than the tolerance on old text ranks behind
    the start; with `significant` also one whose gain on new text may be chance, or whose loss on old text is not.
    """

    def __init__(
        self,
        new: Validation,
        measure: Measure,
        folder: RunFolder,
        old: OldText | None = None,
        *,
        significant: bool = False,
        first: Statistics | None = None,
    ) -> None:
        """`first`: statistics of old text before all adaptations, with which it is compared in place of the start's.

        Raises CheckpointError where the start's statistics are missing in a run that is resumed.
        """
        self.parts, self.measures, self.old = {_NEW: new}, {_NEW: measure}, old
        if old is not None:
            self.parts[OLD_TEXT], self.measures[OLD_TEXT] = old.validation, old.measure
        self.folder, self.significant, self.first = folder, significant, first
        self.start = start_statistics(folder) if folder.started and not start_is_due(folder) else {}

    @property
    def has_old(self) -> bool:
        """Return whether old text is evaluated, too."""
        return self.old is not None

    def __call__(self, should_stop: Callable[[], bool]) -> Mapping[str, float]:
        """Return all metrics; empty when stopped early."""
        found = {name: part.statistics(should_stop) for name, part in self.parts.items()}
        if not all(found.values()):
            return {}
        rows = {name: statistics[self.measures[name].key] for name, statistics in found.items()}
        if not self.start:
            self.start = {**rows}
            if self.first is not None:
                self.start[OLD_TEXT] = self.first
            digest = {} if self.old is None else {_DIGEST: self.old.digest()}
            values = {name: one.tolist() for name, one in self.start.items()}
            write_checked(self.folder.path / START_FILE, {**values, **digest})
        values = {name: part.values(found[name]) for name, part in self.parts.items()}
        if self.old is None:
            return values[_NEW]
        lost = self._figure(OLD_TEXT, self.start[OLD_TEXT]) - self._figure(OLD_TEXT, rows[OLD_TEXT])
        start = self._figure(_NEW, self.start[_NEW])
        selection = selection_score(self._figure(_NEW, rows[_NEW]), start, lost, self.old.tolerance)
        if self.significant and selection > start and not self._is_sure(rows):
            selection = start - _BEHIND
        old = {f"{key}-{OLD_TEXT}": value for key, value in values[OLD_TEXT].items()}
        return {**values[_NEW], **old, CHOICE: selection}

    def outcome(self, checkpoint: Path) -> AdaptationOutcome:
        """Compare the start with the weights of a checkpoint, which are put into the model."""
        model = self.parts[_NEW].model
        files.load_model(model, files.load_checkpoint(checkpoint, training=False))
        model.eval()
        tests, counts = dict[str, SignificanceTest](), dict[str, int]()
        for name, part in self.parts.items():
            tests[name] = self._test(name, part.statistics()[self.measures[name].key])
            counts[name] = count_of(part.examples)
        adapted = checkpoint != files.step_folder(self.folder.path, 0)
        return AdaptationOutcome(adapted, tests, counts, None if self.old is None else self.old.tolerance)

    def _test(self, name: str, rows: Statistics) -> SignificanceTest:
        """Compare the start with statistics of a text."""
        measure = self.measures[name]
        return compare_statistics(measure, self.start[name], rows, measure.signature(self.parts[name].examples))

    def _is_sure(self, rows: Mapping[str, Statistics]) -> bool:
        """Return whether new text gains beyond chance, and old text does not lose beyond chance."""
        ends = {name: signed_interval(one, self._test(name, rows[name])) for name, one in self.measures.items()}
        return ends[_NEW][0] > 0 and ends[OLD_TEXT][1] >= 0

    def _figure(self, name: str, rows: Statistics) -> float:
        """Return the metric of a text, signed so that higher is better."""
        return signed_value(self.measures[name], rows)


def signed_value(measure: Measure, rows: Statistics) -> float:
    """Return the metric of texts, signed so that higher is better."""
    return (1 if measure.higher_is_better else -1) * measure.value(rows.sum(axis=0))


def signed_interval(measure: Measure, test: SignificanceTest) -> tuple[float, float]:
    """Return the interval of a difference, signed so that a gain is above 0."""
    low, high = test.interval
    return (low, high) if measure.higher_is_better else (-high, -low)


def start_is_due(folder: RunFolder) -> bool:
    """Return whether the validation of the start was interrupted: the resumed training makes it again."""
    if (folder.path / START_FILE).is_file() or folder.finished:
        return False
    return files.steps(folder.path)[:1] == [files.step_folder(folder.path, 0)]


def start_statistics(folder: RunFolder) -> dict[str, Statistics]:
    """Return the statistics of the start, by text. Raises CheckpointError where they cannot be read."""
    found = _start_values(folder)
    return {name: np.asarray(found[name], dtype=np.float64) for name in (_NEW, OLD_TEXT) if name in found}


def first_statistics(folder: RunFolder, old: OldText, *, same_settings: bool) -> Statistics | None:
    """Return the statistics of old text with which an adapted run was compared; None if it had other texts or none.

    A file of an earlier version has no digest of the texts: then `same_settings` and their number count.
    """
    if not (folder.path / START_FILE).is_file():
        return None
    found, rows = _start_values(folder), start_statistics(folder).get(OLD_TEXT)
    if _DIGEST in found:
        return rows if found[_DIGEST] == old.digest() else None
    return rows if same_settings and rows is not None and len(rows) == count_of(old.validation.examples) else None


def _start_values(folder: RunFolder) -> dict[str, Any]:
    path = folder.path / START_FILE
    try:
        return dict(read_checked(path))
    except (OSError, ValueError) as error:
        hint = "take it from a copy of the run, or start the training again"
        raise CheckpointError(path, f"cannot be read: {error}", hint) from error


def selection_score(figure: float, start: float, lost: float, tolerance: float) -> float:
    """Return the score of a checkpoint: its figure on new text, or less than the start's if it lost too much on old.

    Higher is better for all figures.
    """
    return figure if lost <= tolerance else min(figure, start) - (lost - tolerance)
