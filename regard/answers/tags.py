"""A tag for each word."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.answers.answer import ReadAnswer
from regard.evaluation.confusion import Confusion, tag_confusion
from regard.evaluation.span_f1 import TaggedSpan
from regard.results import Prediction

if TYPE_CHECKING:
    from rich.console import RenderableType

    from regard.data.columns import Column, TextColumn


class TaggedEntity(NamedTuple):
    """Words that tags mark as one span, such as a name."""

    span: TaggedSpan  # its type and words
    probability: float  # that its words have these tags


@dataclass(frozen=True, repr=False)
class TagsPrediction(Prediction):
    """A label for each word: `text` holds them, parted by spaces; `str` of it is `the/DET dog/NOUN`."""

    answers = "tags"
    tags: list[str] = field(default_factory=list, kw_only=True)
    probabilities: list[float] = field(default_factory=list, kw_only=True)  # of each tag, whatever the others are
    cut: list[tuple[int, int]] | None = field(default=None, kw_only=True)  # places of words; None: between spaces
    spans: list[TaggedEntity] | None = field(default=None, kw_only=True)  # None: tags of this model mark none

    def __str__(self) -> str:
        words = (self.source[start:end] for start, end in self.words)
        return " ".join(f"{word}/{tag}" for word, tag in zip(words, self.tags, strict=True))

    def item_probabilities(self) -> list[float]:
        return self.probabilities

    @property
    def words(self) -> list[tuple[int, int]]:
        """Where each word of the given text stands: its first character, and the first one behind it."""
        return self.cut if self.cut is not None else [match.span() for match in re.finditer(r"\S+", self.source)]

    @property
    def entities(self) -> list[dict[str, Any]]:
        """The spans that tags mark, as values of JSON: `start` and `end` count characters of the given text."""
        words, found = self.words, list[dict[str, Any]]()
        for (label, first, behind), probability in self.spans or []:
            start, end = words[first][0], words[behind - 1][1]
            text = self.source[start:end]
            found.append({"label": label, "start": start, "end": end, "text": text, "probability": probability})
        return found

    def details(self) -> dict[str, Any]:
        """The words, where they stand, the label of each with its probability, and the entities."""
        entities = {} if self.spans is None else {"entities": self.entities}
        return {
            **super().details(),
            "words": [self.source[start:end] for start, end in self.words],
            "offsets": [list(place) for place in self.words],
            "tags": list(self.tags),
            "probabilities": list(self.probabilities),
            **entities,
        }


class TagsAnswer(ReadAnswer[TagsPrediction]):
    """A tag for each word, each with its probability."""

    name = form = "tags"
    records = (TagsPrediction,)
    items = "tags"

    def can_show(self, column: "Column") -> bool:
        """Return whether every word has a piece: a text is shown as it was given."""
        return column.keeps_words

    def recalibrated(self, prediction: TagsPrediction, probabilities: Sequence[Sequence[float]]) -> TagsPrediction:
        found = [one[0] for one in probabilities]
        return replace(prediction, probabilities=found, confidences=found)

    def correct_items(self, prediction: TagsPrediction, right: str, column: "TextColumn") -> list[bool]:
        return [one == other for one, other in zip(prediction.tags, right.split(), strict=True)]

    def confusion(self, answers: Sequence[str], references: Sequence[str]) -> Confusion | None:
        return tag_confusion(answers, references) if answers else None

    def lines(self, prediction: TagsPrediction) -> "Iterator[RenderableType]":
        """Return the words with their tags below them."""
        from regard.answers.drawing import TaggedWords, columns_of

        words = [prediction.source[start:end] for start, end in prediction.words]
        drawn = TaggedWords(words, prediction.tags, prediction.probabilities)
        yield from columns_of(prediction, lambda text, start, seen: drawn)
