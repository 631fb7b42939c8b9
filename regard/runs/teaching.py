"""Learning from corrections: selection of a checkpoint with more of them, and no loss on the dev set."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from regard.config import parse_json
from regard.decoding import GreedySearch
from regard.experiment import Experiment
from regard.experiment.corrections import correction_corpora
from regard.models import Model
from regard.runs.folder import RunFolder
from regard.runs.texts import read_examples, training_readers
from regard.runs.validation import Validation, Validations
from regard.tasks import Examples, Task
from regard.tasks.task import measure_of
from regard.training.checkpoint import METRICS_FILE

CHOICE, CORRECTED = "choice", "corrected"  # keys of scores: the selection criterion, and the percentage of corrections
TOLERATED = 0.01  # of the start's score on the dev set: a checkpoint that loses more is worse
MOST = 2_000  # corrections that each validation translates
MATCH = "exact_match"


def corrections_of(experiment: Experiment, task: Task) -> Examples | None:
    """Return the corrections that a run, which continues another one, learns from; None where there are none."""
    names = [] if experiment.init is None else correction_corpora(experiment.data)
    if not names:
        return None
    readers = training_readers(experiment)
    found = [read_examples(readers[name], task.filter.usable, MOST) for name in names]
    kept = [one for one in found if one is not None]
    if not kept:
        return None
    return {column: [*islice((text for one in kept for text in one[column]), MOST)] for column in kept[0]}


class Teaching:
    """Called by the trainer: metrics of the dev set, and the percentage of corrections that are translated so.

    Checkpoints are selected by the latter, unless the dev score is worse than the start's.
    """

    def __init__(
        self,
        dev: Validation | Validations | None,
        model: Model,
        task: Task,
        corrections: Examples,
        experiment: Experiment,
        folder: RunFolder,
    ) -> None:
        engine, tokens = task.engine(model, GreedySearch()), experiment.decoding.batch_tokens
        match = [measure_of(task, MATCH)]
        self.dev, self.metric = dev, experiment.training.metric
        self.sign = 1 if measure_of(task, self.metric).higher_is_better else -1
        self.corrected = Validation(model, task, engine, corrections, match, batch_tokens=tokens)
        self.count = len(next(iter(corrections.values())))
        self.start = scores_of(folder).get(0, {}).get(self.metric) if folder.started else None

    def __call__(self, should_stop: Callable[[], bool]) -> Mapping[str, float]:
        """Return all metrics; empty when stopped early."""
        dev = {} if self.dev is None else self.dev(should_stop)
        corrected = self.corrected(should_stop)
        if not corrected or (self.dev is not None and not dev):
            return {}
        share, figure = corrected[MATCH], dev.get(self.metric, 0.0)
        self.start = figure if self.start is None else self.start
        return {**dev, CORRECTED: share, CHOICE: choice(share, self.sign * figure, self.sign * self.start)}

    def summary(self, folder: RunFolder, checkpoint: Path) -> str:
        """Return a message with the scores of the start and of the kept checkpoint."""
        scores, update = scores_of(folder), int(checkpoint.name.rpartition("-")[2])
        if not {0, update} <= scores.keys():
            return f"{folder.path / METRICS_FILE} lacks the scores of the start or of update {update:,}"
        before, after = scores[0], scores[update]
        lines = [] if self.dev is None else [f"dev {self.metric} {before[self.metric]:.2f} → {after[self.metric]:.2f}"]
        counts = [round(one[CORRECTED] * self.count / 100) for one in (before, after)]
        lines.append(f"corrections translated as corrected: {counts[0]} → {counts[1]} of {self.count}")
        kept = "; no checkpoint was better than the start, whose weights are kept" if after is before else ""
        return ", ".join(lines) + kept


def choice(corrected: float, figure: float, start: float) -> float:
    """Return the selection criterion: the percentage of corrections, ties by the dev score; higher is better.

    A dev score below the start's, beyond the tolerance, ranks behind the start. Higher is better for all three.
    """
    lost = start - figure
    if lost > TOLERATED * abs(start):
        return -lost
    return corrected - lost / (1 + abs(lost)) / 100


def scores_of(folder: RunFolder) -> dict[int, Mapping[str, float]]:
    """Return the scores of the validations of a run, by their updates, without lines that are damaged."""
    path, found = folder.path / METRICS_FILE, dict[int, Mapping[str, float]]()
    lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    for line in lines:
        if line.startswith('{"event": "validation"'):
            with suppress(ValueError):  # half a line, where a process was killed
                one = parse_json(line)
                found[one["update"]] = one
    return found
