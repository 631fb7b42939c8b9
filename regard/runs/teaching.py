"""Learning from corrections: a checkpoint is chosen that writes more of them and is no worse on the dev text."""

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

CHOICE, CORRECTED = "choice", "corrected"  # keys of scores: what steers, and per cent of the corrections
TOLERATED = 0.01  # of the start's figure on the dev text: a checkpoint that loses more is worse
MOST = 2_000  # corrections that are tried at each validation
MATCH = "exact_match"


def corrections_of(experiment: Experiment, task: Task) -> Examples | None:
    """Return the corrections that a run learns from, which continues another one; None where there are none."""
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
    """Called by the trainer: figures of the dev text, and how many corrections come out as corrected, in per cent.

    What steers is the latter, unless the figure of the dev text is worse than that of the start.
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
        """All figures; empty when it was told to stop on the way."""
        dev = {} if self.dev is None else self.dev(should_stop)
        corrected = self.corrected(should_stop)
        if not corrected or (self.dev is not None and not dev):
            return {}
        share, figure = corrected[MATCH], dev.get(self.metric, 0.0)
        self.start = figure if self.start is None else self.start
        return {**dev, CORRECTED: share, CHOICE: choice(share, self.sign * figure, self.sign * self.start)}

    def summary(self, folder: RunFolder, checkpoint: Path) -> str:
        """Return the figures of the start and of the checkpoint that is kept, in words."""
        scores, update = scores_of(folder), int(checkpoint.name.rpartition("-")[2])
        if not {0, update} <= scores.keys():
            return f"{folder.path / METRICS_FILE} lacks the figures of the start or of update {update:,}"
        before, after = scores[0], scores[update]
        lines = [] if self.dev is None else [f"dev {self.metric} {before[self.metric]:.2f} → {after[self.metric]:.2f}"]
        counts = [round(one[CORRECTED] * self.count / 100) for one in (before, after)]
        lines.append(f"corrections written as corrected: {counts[0]} → {counts[1]} of {self.count}")
        kept = "; no checkpoint was better than the start, whose weights are kept" if after is before else ""
        return ", ".join(lines) + kept


def choice(corrected: float, figure: float, start: float) -> float:
    """Return what checkpoints are chosen by: the share of corrections, equal ones by the figure of the dev text.

    A figure that is worse than that of the start, beyond what is tolerated, comes behind the start. The higher, the
    better, all three.
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
