"""Tagging: a label for each word of a text."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast

from regard.answers.tags import TaggedEntity, TagsAnswer, TagsPrediction
from regard.attention import recording
from regard.config import Doc
from regard.data.columns import Columns
from regard.data.columns.labels import LabelsColumn
from regard.data.columns.words import WordsColumn
from regard.data.examples import ColumnTexts
from regard.data.readers.conll import conll_layout
from regard.data.readers.tables import Fields, TableLayout
from regard.decoding import Answering
from regard.errors import DataError
from regard.evaluation.span_f1 import mark_spans, spans
from regard.explain.alignment import merge_weights
from regard.explain.alignment_view import mean_of_heads
from regard.explain.maps import attention_maps
from regard.models import Model
from regard.models.tagger import WORD_PIECES, Tagger
from regard.pieces import PAD
from regard.records import TAGS, TEXT, Batch
from regard.results import AttentionMap, ColumnLink, Explanation, Prediction, TokenRole, Tokens, WordRelevance
from regard.tasks.example_filter import ExampleFilter
from regard.tasks.example_texts import ExampleTexts, Ids, encodable
from regard.tasks.files import ExampleFiles
from regard.tasks.relevance_view import RelevanceView
from regard.tasks.spec import TaskSpec, Wording
from regard.tasks.task import Task
from regard.text.clean import clean
from regard.text.words import given_word_places, raw_word_places

_RAW = "raw"  # beside the columns of an example: the text that its words were cut from


class ColumnFiles(ExampleFiles):
    """CoNLL columns, whose word and tag fields are detected."""

    def layout(self, columns: Sequence[str], path: Path, kind: str, like: Fields | None = None) -> TableLayout | None:
        return conll_layout(path, tuple(columns), like)


class TagsFilter(ExampleFilter):
    """A filter of texts with as many labels as words."""

    def check(self, texts: Mapping[str, str]) -> None:
        super().check(texts)
        words, tags = (len(texts[name].split()) for name in (TEXT, TAGS))
        if words != tags:
            raise DataError(TAGS, f"has {tags} labels for {words} words", hint="one for each word, separated by spaces")


class TagsTexts(ExampleTexts):
    """Texts with their original spaces, in which words are located; raw ones are cut into words."""

    def __init__(self, columns: Columns, *, raw_text: bool) -> None:
        super().__init__(columns)
        self.raw_text = raw_text

    def given(self, text: str) -> ColumnTexts:
        """Return the words of a text, spaces between them; of a raw one with the text itself."""
        example, read = super().given(text), clean(text)
        if not self.raw_text:
            return example
        return {TEXT: " ".join(read[start:end] for start, end in raw_word_places(read)), _RAW: text}

    def unasked(self, example: ColumnTexts) -> Prediction | None:
        return None if example[TEXT].strip() else TagsPrediction(example[TEXT], "", 0.0)

    def answered(self, prediction: Prediction) -> Ids:
        tagged = cast(TagsPrediction, prediction)
        words = " ".join(tagged.source[start:end] for start, end in tagged.words)
        return {TEXT: self.columns[TEXT].encode(words), TAGS: self.columns[TAGS].encode(tagged.text)}

    def as_given(self, prediction: Prediction, example: ColumnTexts) -> Prediction:
        if _RAW not in example:
            return replace(prediction, source=encodable(example[TEXT]))
        text = example[_RAW]
        return replace(cast(TagsPrediction, prediction), source=encodable(text), cut=given_word_places(text))


class TagsRelevance(RelevanceView):
    """The relevance of each word for each tag."""

    def items(self, batch: Batch, places: Sequence[int]) -> list[str]:
        return self.columns[TAGS].decode(batch.sequences(TAGS).items[0, [*places]].tolist()).split()

    def explanation(self, found: WordRelevance) -> Explanation:
        maps = [AttentionMap(found.method, "encoder", 0, [found.scaled(TEXT)], TAGS, TEXT)]
        link = ColumnLink(TEXT, TAGS, [], found.scaled(TEXT))
        return Explanation(_columns(found.tokens[TEXT], found.items), [link], maps, found.method)


def _defaults_by_tags(examples: Iterable[ColumnTexts]) -> dict[str, Any]:
    """Return the metrics of tags that mark spans: a model that only knows O has most tags right, and no span."""
    tags = {tag for texts in examples for tag in texts[TAGS].split()}
    if not mark_spans(tags):
        return {}
    return {"training": {"metric": "span_f1"}, "evaluation": {"metrics": ["span_f1", "tag_accuracy"]}}


class TaggingTask(Task):
    """Words, separated by spaces → a label for each."""

    columns: ClassVar[Mapping[str, str]] = {TEXT: "words", TAGS: "labels"}
    spec = TaskSpec(
        "tagger",
        "tag_accuracy",
        Tagger,
        validates=("tag_accuracy",),
        filter=TagsFilter,
        relevance=TagsRelevance,
        wording=Wording("sentences", "words of the sentence", "tag sentences"),
        defaults={
            "model": {"position": None, "encoder": {"name": "recurrent", "cell": "lstm", "hidden_dim": 128}},
            "objective": {"name": "likelihood", "label_smoothing": 0.0},
            "training": {"learning_rate": 2e-3},
            "evaluation": {"metrics": ["tag_accuracy"]},
        },
        defaults_by_data=_defaults_by_tags,
    )
    answer = TagsAnswer()
    files = ColumnFiles(default=True)

    def __init__(
        self,
        columns: Columns,
        *,
        raw_text: Annotated[
            bool,
            Doc("Texts to predict from are raw: signs are cut off. decoding.raw_text=true: the same after training."),
        ] = False,
    ) -> None:
        super().__init__(columns)
        self.raw_text = raw_text

    @property
    def texts(self) -> ExampleTexts:
        """Return the texts, cut into words where they are raw."""
        return TagsTexts(self.vocabularies, raw_text=self.raw_text)

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        """Return the likeliest tags of each text, with the probability of each; the score is their joint one."""
        tagged, found = cast(Tagger, model).tag(batch), list[Prediction]()
        marks = mark_spans(cast(LabelsColumn, self.vocabularies[TAGS]).labels)
        rows = zip(tagged.tags, tagged.log_probs, tagged.given_before, tagged.scores.tolist(), tagged.mask, strict=True)
        for words, (ids, each, before, score, mask) in zip(self._texts(batch), rows, strict=True):
            text = self.vocabularies[TAGS].decode((ids[mask] + PAD + 1).tolist())
            tags, log_probs = text.split(), each[mask].tolist()
            sure = [math.exp(one) for one in log_probs]
            marked = _entities(tags, log_probs, before[mask].tolist()) if marks else None
            plain = TagsPrediction(" ".join(words), text, score, log_probs)
            found.append(replace(plain, tags=tags, probabilities=sure, spans=marked))
        return found

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the weights of each attention between words; the pieces of a word count as one."""
        with recording(model) as records:
            cast(Tagger, model).tag(batch)
        pieces = batch.sequences(TEXT).mask.sum(dim=-1).tolist()
        tags = [self.vocabularies[TAGS].decode(ids).split() for ids in batch.sequences(TAGS).items.tolist()]
        found = []
        for row, (words, counts) in enumerate(zip(self._texts(batch), pieces, strict=True)):
            lengths = {TEXT: len(words), WORD_PIECES: sum(counts), TAGS: len(tags[row])}
            maps = [_of_words(one, counts[: len(words)]) for one in attention_maps(records, row, lengths)]
            weights = mean_of_heads(maps[-1]) if maps else []
            pairs = [(place, place) for place in range(len(words))]
            link = ColumnLink(TEXT, TAGS, pairs, weights)
            found.append(Explanation(_columns(words, tags[row]), [link], maps))
        return found

    def _texts(self, batch: Batch) -> list[list[str]]:
        """Return the words of each text."""
        column = cast(WordsColumn, self.vocabularies[TEXT])
        return [column.words(ids) for ids in column.flat(batch.sequences(TEXT))]


def _entities(tags: Sequence[str], log_probs: Sequence[float], given_before: Sequence[float]) -> list[TaggedEntity]:
    """Return the entities of a text, each with the probability that its words have these tags.

    This is that of its first tag, times those of the others given the tag before them.
    """
    places = [(span, log_probs[span.start] + sum(given_before[span.start + 1 : span.end])) for span in spans(tags)]
    return [TaggedEntity(span, math.exp(min(one, 0.0))) for span, one in places]


def _columns(words: list[str], tags: list[str]) -> dict[str, Tokens]:
    return {TEXT: Tokens(words, TokenRole.GIVEN), TAGS: Tokens(tags, TokenRole.ITEMS)}


def _of_words(found: AttentionMap, pieces: Sequence[int]) -> AttentionMap:
    """Return a map of words: of a map of pieces, `pieces` per word, those of a word are merged."""
    if found.keys != WORD_PIECES:
        return found
    ends = [sum(pieces[: place + 1]) for place in range(len(pieces))]
    groups = [list(range(end - count, end)) for count, end in zip(pieces, ends, strict=True)]
    return replace(
        found, weights=[merge_weights(head, groups, groups) for head in found.weights], queries=TEXT, keys=TEXT
    )
