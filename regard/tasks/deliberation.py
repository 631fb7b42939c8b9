"""Deliberation: a sentence and the text that it stands in → its translation, in two passes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

from regard.attention import recording
from regard.data.columns import Columns, TextColumn
from regard.data.columns.sentences import SentencesColumn
from regard.data.readers.document_sentences import WindowSize
from regard.errors import ConfigError
from regard.explain.alignment import align
from regard.explain.maps import attention_maps
from regard.models import Deliberation, Model
from regard.models.deliberation import DOCUMENT, DRAFT, EXTRA, RATIO, SOURCE, TARGET
from regard.pieces import END
from regard.records import EOS, PAD, Batch
from regard.registry import Choice
from regard.results import Explanation, Prediction, TextPrediction
from regard.tasks.task import Ids, Wording
from regard.tasks.text_predictions import rows_of
from regard.tasks.translation import TranslationTask
from regard.text.windows import TAB


class DeliberationTask(TranslationTask):
    """A sentence and the text that it stands in → its translation: all of the text is drafted, then written anew.

    To predict, a line is a text; or, with tabs between, a sentence and the sentences that stand around it, itself among
    them. A text of many sentences is cut into windows.
    """

    columns: ClassVar[Mapping[str, str]] = {SOURCE: "text", DOCUMENT: "sentences", TARGET: "text"}
    model = "deliberation"
    contract: ClassVar[Any] = Deliberation
    weighed, together = (SOURCE, TARGET), DOCUMENT  # a draft is what it is
    wording = Wording("sentences", "words of the source", "decode sentences", "pieces")

    def __init__(self, columns: Columns, *, window: WindowSize = 4) -> None:
        source = cast(TextColumn, columns[SOURCE])
        super().__init__({**columns, DOCUMENT: SentencesColumn(source.tokenizer)})
        self.read_together = window

    def check_variation(self, transforms: Sequence[Choice]) -> None:
        """Refuse any: a sentence is found in its text by its pieces, and the text would keep its own."""
        problem = "changes a sentence, which then is not found in its text"
        if transforms:
            raise ConfigError("data.transforms", problem, "leave it out")
        if self.source.samples:
            raise ConfigError("text.tokenizer.sampling", problem, "use 0, also for the translator to start from")

    def given(self, text: str) -> Mapping[str, str]:
        """Return a sentence and its text, which is the sentence alone where the line has no other."""
        source, _, document = text.partition(TAB)
        return {SOURCE: source, DOCUMENT: document or source}

    def as_given(self, prediction: Prediction, example: Mapping[str, str]) -> Prediction:
        """Return a prediction that knows the text around it."""
        return replace(cast(TextPrediction, prediction), document=example[DOCUMENT])

    def answered(self, prediction: Prediction) -> Ids:
        """Return the pieces of the sentence, of its text and of what was written."""
        document = cast(TextPrediction, prediction).document or prediction.source
        both = super().answered(prediction)
        return {SOURCE: both[SOURCE], DOCUMENT: self.vocabularies[DOCUMENT].encode(document), TARGET: both[TARGET]}

    def beside_columns(self, ids: Ids) -> Mapping[str, int]:
        """Return the most pieces of a draft."""
        text = [*ids[DOCUMENT], EOS]
        return {DRAFT: RATIO * len(text) + (EXTRA + 1) * text.count(EOS)}

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return what each target looked at, of its source and of the draft, in one forced pass."""
        writer = cast(Deliberation, model)
        drafts, found = writer.draft(batch).ids, list[Explanation]()
        with recording(model) as records:
            decoded, _ = writer.decode(batch, need_weights=True)
        sources, targets = (rows_of(batch.sequences(name)) for name in (SOURCE, TARGET))
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            weights = []  # of a decoder that reads no single states
            if decoded.weights is not None:
                weights = decoded.weights[row, : len(target), : len(source)].float().tolist()
            tokens = {
                SOURCE: [*self.source.pieces(source[:-1]), END],
                DRAFT: self.target.pieces(drafts[row].tolist()),
                TARGET: [*self.target.pieces(target[:-1]), END],
            }
            maps = attention_maps(records, row, {name: len(some) for name, some in tokens.items()})
            kept = [place for place, one in enumerate(drafts[row].tolist()) if one != PAD]
            shown = [one if one.keys != DRAFT else replace(one, weights=_columns(one.weights, kept)) for one in maps]
            tokens[DRAFT] = [tokens[DRAFT][place] for place in kept]
            if self.alignment_head is not None:
                weights = self.alignment_head.weights(shown)
            links = align([line[:-1] for line in weights[:-1]])
            found.append(Explanation(tokens[SOURCE], tokens[TARGET], links, weights, shown, tokens))
        return found


def _columns(weights: list[list[list[float]]], kept: Sequence[int]) -> list[list[list[float]]]:
    """Weights (head, query, key) of some keys alone."""
    return [[[line[place] for place in kept] for line in head] for head in weights]
