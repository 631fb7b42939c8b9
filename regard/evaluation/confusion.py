"""Which labels, tags or types of spans are taken for which, and how well each class is known."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.evaluation.span_f1 import mark_spans, spans

NO_LABEL = ""  # in place of a label: nothing to be found, or nothing that was answered


class ClassFigures(NamedTuple):
    """One class; shares are in per cent, None where there is nothing to divide by."""

    label: str
    precision: float | None  # right answers of all answers with this label
    recall: float | None  # right answers of all examples with this label
    f1: float | None  # 2PR / (P + R) = 2 · right / (answers + examples)
    examples: int


class Confusion(NamedTuple):
    """counts[i, j]: examples of label i that were answered with label j. Labels in alphabetical order."""

    labels: tuple[str, ...]  # those of references and of answers
    counts: NDArray[np.int64]  # (right label, answer)

    def classes(self) -> list[ClassFigures]:
        """Return the figures of each label but NOTHING."""
        right, wanted, given = self.counts.diagonal(), self.counts.sum(axis=1), self.counts.sum(axis=0)
        rows = zip(self.labels, right.tolist(), wanted.tolist(), given.tolist(), strict=True)
        return [
            ClassFigures(label, _share(hits, answers), _share(hits, real), _share(2 * hits, answers + real), real)
            for label, hits, real, answers in rows
            if label != NO_LABEL
        ]

    def shares(self) -> list[list[float]]:
        """Return of the examples of each label the share that got each answer; 0 for a label without examples."""
        found: list[list[float]] = (self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)).tolist()
        return found

    def values(self) -> dict[str, Any]:
        """Return the same as JSON values."""
        classes = [one._asdict() for one in self.classes()]
        return {"labels": list(self.labels), "counts": self.counts.tolist(), "classes": classes}


def confusion_of(answers: Sequence[str], references: Sequence[str]) -> Confusion:
    """Return the confusion matrix of answers beside the right labels, spaces around them left out."""
    given, wanted = ([label.strip() for label in some] for some in (answers, references))
    labels = tuple(sorted({*given, *wanted}))
    places = {label: place for place, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)), np.int64)
    for answer, label in zip(given, wanted, strict=True):
        counts[places[label], places[answer]] += 1
    return Confusion(labels, counts)


def tag_confusion(answers: Sequence[str], references: Sequence[str]) -> Confusion:
    """Return it of the types of spans where all tags of the references mark spans, else of the tags of words.

    A span that is given another type counts as taken for it. One that is missing, too many or of other words is taken
    for NOTHING, or NOTHING for it; so each type has the precision and recall of `span_f1`. A tag that is missing
    counts alike.
    """
    tags = {tag for reference in references for tag in reference.split()}
    pair = _spans if mark_spans(tags) else _words
    pairs = [one for texts in zip(answers, references, strict=True) for one in pair(*map(str.split, texts))]
    return confusion_of([given for given, _ in pairs], [wanted for _, wanted in pairs])


def _share(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def _spans(given: Sequence[str], wanted: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The types of spans of the same words."""
    one, other = ({(span.start, span.end): span.type for span in spans(tags)} for tags in (given, wanted))
    return ((one.get(place, NO_LABEL), other.get(place, NO_LABEL)) for place in {**one, **other})


def _words(given: Sequence[str], wanted: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The tags of the words of the reference."""
    return ((given[place] if place < len(given) else NO_LABEL, tag) for place, tag in enumerate(wanted))
