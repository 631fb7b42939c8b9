"""How well language models know a text: perplexity by piece and by word, bits by character."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from regard.data import READERS
from regard.errors import ConfigError, DataError
from regard.registry import Choice
from regard.reports.timing import timed
from regard.runs import RunFolder, assemble
from regard.runs.texts import read_texts, test_texts
from regard.runs.validation import Validation
from regard.tasks import TASKS, Task, Texts

TEXT_OPTIONS = ("--source", "--target", "--output")  # of translations, in the order of `know_texts`


class Known(NamedTuple):
    """What one run says of the text."""

    name: str
    figures: dict[str, float]
    seconds: float


class TextEvaluation(NamedTuple):
    """All figures of one evaluation."""

    lines: int
    runs: tuple[Known, ...]

    def __str__(self) -> str:
        told = []
        for run in self.runs:
            told.append(f"{run.name}: {self.lines:,} lines in {run.seconds:.1f} s")
            told += [f"  {name.replace('_', ' ')} {value:.4g}" for name, value in run.figures.items()]
        return "\n".join(told)

    def values(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {"lines": self.lines, "systems": [run._asdict() for run in self.runs]}


def know_texts(
    systems: Sequence[Path], source: Path | None, target: Path | None, text: Path | None, output: Path | None
) -> bool:
    """Whether the systems are language models. Raises ConfigError for options, or systems, of the other kind."""
    runs = [path for path in systems if path.is_dir()]
    kinds = {path: bool(_row(path).continues) for path in runs}
    if not any(kinds.values()):
        if text is not None:
            raise ConfigError("--text", "is for language models", "--source FILE --target FILE")
        return False
    given = [name for name, file in zip(TEXT_OPTIONS, (source, target, output), strict=True) if file is not None]
    others = [str(path) for path in systems if not kinds.get(path)]
    if given:
        raise ConfigError(given[0], "is for translations", "language models take --text FILE")
    if others:
        raise ConfigError("SYSTEM", f"'{others[0]}' is no language model, as others are", "evaluate each kind alone")
    return True


def evaluate_texts(systems: Sequence[Path], text: Path | None = None, *, changes: Sequence[str] = ()) -> TextEvaluation:
    """All figures of every run on one text: a file, or the test part of the first run.

    Runs that cut texts in other pieces can be compared by word and by character. Raises RegardError.
    """
    known, lines = [], 0
    for number, path in enumerate(systems):
        model, task, experiment = assemble(RunFolder(path), list(changes))
        column, tokens = task.columns[-1], experiment.decoding.batch_tokens
        texts = _texts(systems[0], text, task)[column]
        if number == 0:
            lines = len(texts)
        figures, spent = timed(partial(_figures, model, task, column, tokens), texts)
        known.append(Known(str(path), figures, spent.seconds))
    return TextEvaluation(lines, tuple(known))


def _figures(model: Any, task: Task, column: str, tokens: int, lines: Sequence[str]) -> dict[str, float]:
    return dict(Validation(model, task, {column: lines}, [], batch_tokens=tokens)(lambda: False))


def _texts(first: Path, text: Path | None, task: Task) -> Texts:
    if text is not None:
        files = {"files": {column: str(text) for column in task.columns}}
        found = read_texts(
            READERS.build(Choice("parallel", files), task.columns), None, lambda _: None, whole=task.whole
        )
    else:
        experiment = RunFolder(first).experiment()
        if experiment.reader("test") is None:
            raise ConfigError("--text", f"must be given: {first} names no test part", "--text FILE")
        found = test_texts(experiment, task)
    if found is None:
        raise DataError(text or first, "the text is empty")
    return found


def _row(path: Path) -> Any:
    """The row of the table of tasks that a run is for."""
    return TASKS[RunFolder(path).experiment().task.name]
