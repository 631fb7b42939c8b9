"""How answers hold when the texts that are read are changed a little (https://aclanthology.org/P18-1163, section 4)."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regard.errors import ConfigError
from regard.evaluation import Score, compare_statistics
from regard.registry import Choice
from regard.reports.evaluation_report import Robustness, System
from regard.results import Prediction
from regard.runs.embeddings import read_embeddings
from regard.tasks import Examples, Measure, Outcome, Task
from regard.tasks.examples import as_rows, count_of
from regard.text.perturbations import PERTURBATIONS, changeable_words
from regard.text.vector_table import VectorTable

_TEXT = "text"  # the row of COLUMNS whose texts are changed


class Perturbed(NamedTuple):
    """Examples whose texts were changed."""

    name: str  # of the change, with its share of words
    examples: Examples


def perturbed(
    choices: Sequence[Choice], examples: Examples, task: type[Task], systems: Sequence[Path]
) -> list[Perturbed]:
    """Return the examples as each perturbation changes them; the answers that are wanted stay.

    Synonyms are near words of the first run, among the words of the examples. Raises ConfigError for systems that
    cannot answer anew, for a task that reads no running text, and for wrong settings.
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
        found.append(Perturbed(f"{choice.name}:{perturbation.share:g}", {**examples, **changed}))
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
    """The first figure of the noisy answers, the clean ones being the references."""
    examples = {**changed.examples, list(changed.examples)[-1]: clean.answers}
    answers = [Prediction("", text, 0.0) for text in noisy.answers]
    outcome = Outcome(examples, lambda: answers, lambda: noisy.statistics[0])
    value = measure.value(measure.statistics(outcome).sum(axis=0))
    return Score(measure.name, value, measure.signature(examples), measure.higher_is_better)
