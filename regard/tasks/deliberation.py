"""Deliberation: a sentence and the text around it → its translation, in two passes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, cast

from regard.data import Corpus
from regard.data.columns import Columns, TextColumn
from regard.data.columns.sentences import SentencesColumn
from regard.data.examples import ColumnTexts
from regard.data.readers.document_sentences import WindowSize
from regard.data.streams import PlannedStream
from regard.errors import ConfigError
from regard.models.deliberation import Deliberation
from regard.records import DOCUMENT, SOURCE, TARGET
from regard.registry import Choice
from regard.results import Prediction, TextPrediction
from regard.tasks.example_filter import ExampleFilter
from regard.tasks.example_texts import ExampleTexts, Ids
from regard.tasks.relevance_view import RelevanceView
from regard.tasks.translation import TranslationRelevance, TranslationTask, TranslationTexts
from regard.text.windows import SENTENCE_TAB, with_window


class SentenceFilter(ExampleFilter):
    """A filter of sentences that are located in their texts by their pieces, so neither may change."""

    def check_transforms(self, transforms: Sequence[Choice]) -> None:
        problem = "changes a sentence, so that it is not found in its text"
        if transforms:
            raise ConfigError("data.transforms", problem, "leave it out")
        if self.columns[SOURCE].samples:
            raise ConfigError("text.tokenizer.sampling", problem, "use 0, also for the translator to start from")


class SentenceTexts(TranslationTexts):
    """Sentences with the texts around them, of which a window is read."""

    def __init__(self, columns: Columns, window: int) -> None:
        super().__init__(columns)
        self.window = window

    def given(self, text: str) -> ColumnTexts:
        """Return a sentence and its text; without other fields the text is the sentence."""
        source, _, document = text.partition(SENTENCE_TAB)
        return {SOURCE: source, DOCUMENT: document or source}

    def as_given(self, prediction: Prediction, example: ColumnTexts) -> Prediction:
        return replace(cast(TextPrediction, prediction), document=example[DOCUMENT])

    def line(self, prediction: Prediction) -> str:
        return with_window(prediction.source, cast(TextPrediction, prediction).document)

    def answered(self, prediction: Prediction) -> Ids:
        document = cast(TextPrediction, prediction).document or prediction.source
        return {**super().answered(prediction), DOCUMENT: self.columns[DOCUMENT].encode(document)}


class DeliberationTask(TranslationTask):
    """A sentence and the text around it → its translation: the whole text is drafted, then translated again.

    To predict, a line is a text; or, tab-separated, a sentence and all sentences of its context, itself included.
    A text of many sentences is cut into windows.
    """

    columns: ClassVar[Mapping[str, str]] = {SOURCE: "text", DOCUMENT: "sentences", TARGET: "text"}
    spec = TranslationTask.spec._replace(model="deliberation", contract=Deliberation, filter=SentenceFilter)

    def __init__(self, columns: Columns, *, window: WindowSize = 4) -> None:
        source = cast(TextColumn, columns[SOURCE])
        super().__init__({**columns, DOCUMENT: SentencesColumn(source.tokenizer)})
        self.window = window

    @property
    def texts(self) -> ExampleTexts:
        return SentenceTexts(self.vocabularies, self.window)

    @property
    def relevance(self) -> RelevanceView:
        return TranslationRelevance(self.vocabularies, (SOURCE, TARGET))

    def stream(
        self, corpus: Corpus, tokens: int | None = None, sentences: int | None = None, *, seed: int
    ) -> PlannedStream:
        """Return batches in which the sentences of a text share its draft, as far as they fit."""
        return self._batches(corpus, tokens, sentences, seed, together=DOCUMENT)
