"""Translations of a corpus, diagnosed: how many have each fault, and the worst sentences first."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from regard.data.readers.lines import read_lines
from regard.errors import DataError
from regard.explain.adequacy.lexicon import kept_translations
from regard.explain.translation_faults import FaultFinder
from regard.predictor import Predictor
from regard.reports.report import Report
from regard.results import TranslationFault
from regard.runs.assembly import check_translates
from regard.runs.texts import Say, test_examples

_WORST = 20  # sentences that are shown


class Diagnosed(NamedTuple):
    """A translation with its faults."""

    line: int  # of the source, from 1
    source: str
    target: str
    score: float  # of the model, in nats
    faults: list[TranslationFault]

    @property
    def fraction(self) -> float:
        """Return the number of errors per word."""
        return len(self.faults) / max(len(self.source.split()), 1)

    def values(self) -> dict[str, Any]:
        """Return JSON values."""
        return {**self._asdict(), "faults": [fault._asdict() for fault in self.faults]}

    def __str__(self) -> str:
        faults = " · ".join(map(str, self.faults))
        return f"line {self.line:,}\n  {self.source}\n  {self.target}\n  {faults}"


class Diagnosis(NamedTuple):
    """Translations with faults, the most faults a word first."""

    sentences: int  # all of them
    found: list[Diagnosed]

    @property
    def counts(self) -> dict[str, int]:
        """Return how many translations have each kind of fault, the most frequent first."""
        return dict(
            Counter(kind for one in self.found for kind in sorted({fault.kind for fault in one.faults})).most_common()
        )

    def values(self) -> dict[str, Any]:
        """Return JSON values."""
        worst = [one.values() for one in self.found]
        return {"sentences": self.sentences, "with_faults": len(self.found), "counts": self.counts, "worst": worst}

    def __str__(self) -> str:
        counts = ", ".join(f"{kind} {count:,}" for kind, count in self.counts.items())
        head = f"{len(self.found):,} of {self.sentences:,} translations have words worth a look: {counts or 'none'}"
        return "\n\n".join([head, *map(str, self.found[:_WORST])])


def diagnosis_report(predictor: Predictor, source: Path | None, say: Say) -> Report:
    """Translate a file, or a run's test set, and find errors by the translations of each word in training.

    Raises ConfigError for a run that does not translate, CheckpointError without counts, DataError without texts.
    """
    run = predictor.run
    check_translates(run.columns, "--diagnose")
    finder = FaultFinder(kept_translations(run.path))
    if source is not None:
        sources = [*read_lines(source)]
    else:
        examples = test_examples(run.experiment, predictor.task)
        if examples is None:
            raise DataError(str(run.path), "has no test set", hint="--source names a file to translate")
        sources = [*examples["source"]]
    say(f"translating {len(sources):,} sentences")
    predictions = predictor.predict(sources, safeguards=False)
    found = diagnosis(finder, ((one.source, one.text, one.score) for one in predictions))
    return Report([], found.values(), str(found))


def diagnosis(finder: FaultFinder, translations: Iterable[tuple[str, str, float]]) -> Diagnosis:
    """Find errors in translations of sources; the most errors per word first, equal ones by score."""
    found, count = list[Diagnosed](), 0
    for count, (source, target, score) in enumerate(translations, start=1):
        faults = finder.faults(source, target)
        if faults:
            found.append(Diagnosed(count, source, target, score, faults))
    return Diagnosis(count, sorted(found, key=lambda one: (-one.fraction, one.score)))
