"""Translation: a source text and a target text."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, cast

from regard.attention import recording
from regard.data.columns import Columns, TextColumn, of_language
from regard.data.examples import ColumnTexts
from regard.decoding import Answering, Engine, forced
from regard.documents.document import Document
from regard.documents.plain_text import plain_document
from regard.documents.unknown_words import COPIED, copy_unknown_words, unknown_script
from regard.explain.alignment import align
from regard.explain.maps import attention_maps
from regard.models import Generator, Model
from regard.models.model import WrittenColumn
from regard.pieces import END
from regard.records import PAD, Batch
from regard.results import AttentionMap, Explanation, Prediction, TextPrediction, TokenRole, Tokens, WordRelevance
from regard.runtime.loops import loop_of
from regard.tasks.example_texts import ExampleTexts, Ids
from regard.tasks.relevance_view import RelevanceView
from regard.tasks.spec import TaskSpec, Wording
from regard.tasks.task import Task
from regard.tasks.text_predictions import rows_of, text_prediction, with_loops_named, without_loop
from regard.text.clean import clean


class TranslationTexts(ExampleTexts):
    """Texts and their translations."""

    def __init__(self, columns: Columns) -> None:
        super().__init__(columns)
        self.source, self.target = (cast(TextColumn, columns[name]) for name in (self.inputs[0], self.last))

    def unasked(self, example: ColumnTexts) -> Prediction | None:
        return None if example["source"].strip() else TextPrediction(example["source"], "", 0.0)

    def answered(self, prediction: Prediction) -> Ids:
        """Return the ids of a translation, with the context that its source was read with."""
        augmented = prediction.augmented if isinstance(prediction, TextPrediction) else ""
        return super().answered(replace(prediction, source=augmented or prediction.source))

    def unanswerable(self, example: ColumnTexts) -> Prediction | None:
        """Copy a text in a script that training never saw."""
        source = clean(example["source"])
        copied = unknown_script(source, self.source.alphabet)
        return TextPrediction(source, source, 0.0, warning=COPIED) if copied else None

    def safeguarded(self, prediction: Prediction) -> Prediction:
        """Remove repetition loops, also in alternatives; warn of a word that has one inside."""
        found = [one for one in (prediction, *prediction.alternatives) if isinstance(one, TextPrediction)]
        if all(loop_of(one.ids or []) is None for one in found):
            return with_loops_named(prediction)
        source = self.source.encode(prediction.source)
        best, *rest = [
            without_loop(one, source, self.target) if isinstance(one, TextPrediction) else one
            for one in (prediction, *prediction.alternatives)
        ]
        return with_loops_named(replace(best, alternatives=rest))

    def document(self, text: str, language: str | None) -> Document:
        return copy_unknown_words(plain_document(text, language=language), self.source.alphabet)

    def check_terms(self, option: str = "glossary") -> None:
        """Accept all terms: the search supports them."""


class TranslationRelevance(RelevanceView):
    """The relevance of both sides, and of context in the source, for the words of a translation."""

    def explanation(self, found: WordRelevance) -> Explanation:
        """Return the relevance of the source as links and weights, and both sides as maps."""
        weights = found.scaled("source")
        blocks = {name: "decoder" if name == "target" else "cross" for name in found.tokens}
        maps = [
            AttentionMap(found.method, block, 0, [found.scaled(name)], "target", name) for name, block in blocks.items()
        ]
        links = align([line[:-1] for line in weights[:-1]])
        tokens = found.tokens["source"], found.items
        shown = Explanation.of_text(*tokens, links, weights, maps, method=found.method, sides=found.sides())
        others = {
            name: Tokens(one, TokenRole.DERIVED) for name, one in found.tokens.items() if name not in shown.columns
        }
        source = {"source": shown.columns["source"]}
        return replace(shown, columns={**source, **others, **shown.columns}) if others else shown


class TranslationTask(Task):
    """A text in one language → the same in another."""

    columns: ClassVar[Mapping[str, str]] = {"source": "text", "target": "text"}
    spec = TaskSpec(
        "translator",
        "bleu",
        validates=("bleu", "chrf"),
        starts={"taken": {"deliberation": ("attention", "head", "tied")}},
        texts=TranslationTexts,
        relevance=TranslationRelevance,
        translated="source",
        wording=Wording(
            "sentences",
            "words of the source",
            "decode sentences",
            use='translate with: regard predict {run} "a sentence"',
        ),
    )

    @property
    def source(self) -> TextColumn:
        """Column of the source texts."""
        return cast(TextColumn, self.vocabularies[self.first])

    @property
    def target(self) -> TextColumn:
        """Column of the translations."""
        return cast(TextColumn, self.vocabularies[self.last])

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        pairs = zip(self._texts(batch), cast(Engine, model).answer(batch), strict=True)
        return [text_prediction(text, ranked, self.target) for text, ranked in pairs]

    def force(self, model: Model, batch: Batch) -> list[Prediction]:
        pairs = zip(self._texts(batch), forced(cast(Generator, model), batch), strict=True)
        return [text_prediction(text, [found], self.target) for text, found in pairs]

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the attention weights of each target, in one forced pass: over its source and the model's drafts."""
        writer, found = cast(Generator, model), list[Explanation]()
        written = {name: ids for name, one in model.written_columns.items() if (ids := self._written(one, batch))}
        with recording(model) as records:
            decoded, _ = writer.decode(batch, need_weights=True)
        sources, targets = (rows_of(batch.sequences(name)) for name in (self.first, self.last))
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            weights = []  # the decoder does not attend to single states
            if decoded.weights is not None:
                weights = decoded.weights[row, : len(target), : len(source)].float().tolist()
            tokens = self._tokens(source, target)
            tokens |= {name: [piece for _, piece in rows[row]] for name, rows in written.items()}
            maps = attention_maps(records, row, {name: len(some) for name, some in tokens.items()})
            for name, rows in written.items():
                kept = [place for place, (one, _) in enumerate(rows[row]) if one != PAD]
                maps = [replace(one, weights=_columns(one.weights, kept)) if one.keys == name else one for one in maps]
                tokens[name] = [tokens[name][place] for place in kept]
            if self.alignment_head is not None:
                weights = self.alignment_head.weights(maps)
            links = align([line[:-1] for line in weights[:-1]])
            explanation = Explanation.of_text(tokens[self.first], tokens[self.last], links, weights, maps)
            derived = {name: Tokens(tokens[name], TokenRole.DERIVED) for name in written}
            found.append(replace(explanation, columns={**explanation.columns, **derived}))
        return found

    def _written(self, column: WrittenColumn, batch: Batch) -> list[list[tuple[int, str]]] | None:
        """Return the ids and pieces of a column that the model drafts, row by row."""
        ids, columns = column.ids(batch), of_language(self.learnt, column.route(batch.route))
        if ids is None:
            return None
        writes = cast(TextColumn, columns[self.last])
        return [[*zip(row, writes.pieces(row), strict=True)] for row in ids.tolist()]

    def _tokens(self, source: Sequence[int], target: Sequence[int]) -> dict[str, list[str]]:
        """Return the pieces of each side."""
        return {
            self.first: [*self.source.pieces(source[:-1]), END],
            self.last: [*self.target.pieces(target[:-1]), END],
        }

    def _texts(self, batch: Batch) -> list[str]:
        return [self.source.decode(ids[:-1]) for ids in rows_of(batch.sequences("source"))]


def _columns(weights: list[list[list[float]]], kept: Sequence[int]) -> list[list[list[float]]]:
    """Return the weights (head, query, key) of some keys."""
    return [[[line[place] for place in kept] for line in head] for head in weights]
