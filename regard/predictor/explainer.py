"""Explanations of answers: attention, relevance, alignments, hidden states and recorded searches."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, cast

from regard.attention import is_recording
from regard.data.columns import TextColumn
from regard.data.examples import ColumnTexts
from regard.decoding import Search, Unwanted
from regard.decoding.trace import SearchTrace
from regard.errors import RegardError
from regard.explain.maps import without_end
from regard.explain.relevance import RELEVANCES, method_of
from regard.explain.relevance.question import OnProgress, no_progress
from regard.explain.tokens import words_of
from regard.models import Model
from regard.predictor.batches import TextEncoder
from regard.predictor.predictions import Predictions
from regard.predictor.setup import Setup
from regard.predictor.source_context import SourceParts
from regard.registry import Choice
from regard.results import (
    DocumentPrediction,
    Explanation,
    Prediction,
    SegmentEvidence,
    TextPrediction,
    WordEvidence,
    WordRelevance,
)
from regard.tasks import Task
from regard.tasks.example_texts import Ids
from regard.tasks.relevance import state_relevance, word_relevance

EXPLAINED = 256  # sentences whose maps are in memory at once
WIDTH_OF_MAPS = 4  # rows a sentence counts for when all attention weights are kept


class Answers(Protocol):
    """The parts of a predictor that explanations need."""

    @property
    def encoder(self) -> TextEncoder:
        """Texts → ids and batches."""

    @property
    def setup(self) -> Setup:
        """Search and fault finder."""

    def predict(
        self,
        texts: Iterable[str | ColumnTexts],
        *,
        search: Search | None = None,
        encoded: Sequence[Ids] | None = None,
    ) -> Predictions:
        """Return one prediction per text."""

    def score(self, sources: Iterable[str], targets: Iterable[str]) -> Predictions:
        """Return the log-probabilities of given targets."""


class Explainer:
    """Explanations of predictions: attention, relevance, alignments, hidden states, recorded searches.

    >>> explainer = regard.load("runs/en-de").explainer

    Methods return new predictions in the same order. An `explanation` has pieces by column, links between them, and
    maps (head, query, key) of attention weights; `RegardError` says where a model cannot be explained.
    """

    def __init__(self, predictor: Answers) -> None:
        self._predictor, self._encoder, self._setup = predictor, predictor.encoder, predictor.setup
        self._task = predictor.encoder.task

    @property
    def _model(self) -> Model:
        """The network. Raises ConfigError for an engine without explanations."""
        self._setup.abilities.check("explanations", "explain")
        return self._encoder.model

    def relevance(self, predictions: Sequence[Prediction], method: str | Choice) -> list[WordRelevance]:
        """Return the relevance of each input word for each word of these answers, (item, token) by column.

        >>> (found,) = explainer.relevance(predictor.score(["Good morning!"], ["Guten Morgen!"]), "lrp")
        >>> found.array("source").values

        `method` is a row of RELEVANCES. Raises ConfigError for an unknown method or setting, RegardError where the
        method cannot explain this model.
        """
        pairs = zip(self._relevance(predictions, method), predictions, strict=True)
        return [found if one.finished else found.without_end() for found, one in pairs]

    def _relevance(
        self, predictions: Sequence[Prediction], method: str | Choice, progress: OnProgress = no_progress
    ) -> list[WordRelevance]:
        choice = method_of(method)
        attribution = RELEVANCES.build(choice)
        rows = self._encoder.encode_answered(predictions)
        if is_recording():
            raise RegardError("relevance: it cannot be computed inside `recording`")
        model, found = attribution.model(self._model), list[WordRelevance]()
        for one, row in zip(predictions, rows, strict=True):
            batch = self._task.batch([row]).to(model.device)
            relevance = word_relevance(self._task, model, batch, attribution, choice.name, progress)
            parts = self._source_parts(one)
            found.append(relevance if parts is None else parts.of_relevance(relevance))
        return found

    def with_relevance(
        self, predictions: Sequence[Prediction], method: str | Choice, progress: OnProgress = no_progress
    ) -> Predictions:
        """Return the predictions, each with the relevance of words as its explanation.

        >>> (one,) = explainer.with_relevance(predictor.predict(["Good morning!"]), "saliency")

        `progress` is called before every pass through the model; an exception that it raises ends the explanation.
        Raises as `relevance` does.
        """
        found = self._relevance(predictions, method, progress)
        return self._explained(predictions, map(self._task.relevance.explanation, found))

    def with_attention(self, predictions: Sequence[Prediction]) -> Predictions:
        """Return the predictions, each with its attention weights, and with translation errors that a lexicon finds.

        >>> (one,) = explainer.with_attention(predictor.score(["Good morning!"], ["Guten Morgen!"]))
        >>> one.explanation.maps[0].weights  # (head, query, key)

        Memory grows with the square of a text's length. Raises TooLongError for a text that the model cannot read.
        """
        self._setup.abilities.check("explanations", "explain")
        return self._explained(predictions, self._attention(predictions))

    def _explained(self, predictions: Sequence[Prediction], explanations: Iterable[Explanation]) -> Predictions:
        pairs = zip(predictions, explanations, strict=True)
        return self.with_evidence([self._diagnosed(self._with(one, found)) for one, found in pairs])

    def with_evidence(self, predictions: Sequence[Prediction]) -> Predictions:
        """Return the predictions, each with the segments of a translation memory behind its words.

        >>> (one,) = explainer.with_evidence(predictor.predict(["Good morning!"]))
        >>> one.word_evidence()

        Without decoding.features=nearest_segments they stay as they are.
        """
        if (feature := self._setup.nearest_segments) is None:
            return Predictions(predictions)
        sentences = [part for one in predictions for part in _sentences(one)]
        places = [place for place, one in enumerate(sentences) if isinstance(one, TextPrediction) and one.ids]
        rows = self._encoder.encode_answered([sentences[place] for place in places])
        for place, pieces in zip(places, self._encoder.in_batches(rows, feature.evidence), strict=True):
            sentences[place] = self._with_words(cast(TextPrediction, sentences[place]), pieces)
        named = iter(sentences)
        return Predictions(
            replace(one, parts=[next(named) for _ in one.parts]) if isinstance(one, DocumentPrediction) else next(named)
            for one in predictions
        )

    def _with_words(self, prediction: TextPrediction, pieces: Sequence[Sequence[SegmentEvidence]]) -> TextPrediction:
        """Return a prediction with the evidence for each word, the mean over its pieces."""
        target, found = cast(TextColumn, self._task.vocabularies[self._task.last]), list[WordEvidence]()
        for word in words_of(target.pieces(prediction.ids or [])):
            sums = dict[int, SegmentEvidence]()
            for match, fraction in (one for piece in word.pieces for one in pieces[piece]):
                known = sums.get(match.segment, SegmentEvidence(match, 0.0))
                sums[match.segment] = known._replace(fraction=known.fraction + fraction / len(word.pieces))
            if sums:
                best = sorted(sums.values(), key=lambda one: -one.fraction)
                found.append(WordEvidence(word.text, best, word.pieces))
        return replace(prediction, evidence=found)

    def _diagnosed(self, prediction: Prediction) -> Prediction:
        finder = self._setup.fault_finder
        if finder is None or not isinstance(prediction, TextPrediction):
            return prediction
        return replace(prediction, lexicon=finder.report(prediction.source, prediction.text))

    def _attention(self, predictions: Sequence[Prediction]) -> list[Explanation]:
        rows = self._encoder.encode_answered(predictions)
        explain = partial(self._task.explain, self._encoder.model)
        found = self._encoder.in_batches(rows, explain, width=WIDTH_OF_MAPS, alone=True)
        parts = map(self._source_parts, predictions)
        return [one if part is None else part.of_explanation(one) for one, part in zip(found, parts, strict=True)]

    def _source_parts(self, prediction: Prediction) -> SourceParts | None:
        """Return the parts of a source that was read with context; None for another one."""
        augmented = prediction.augmented if isinstance(prediction, TextPrediction) else ""
        column = self._task.vocabularies[self._task.first]
        return SourceParts.of(column, augmented, prediction.source) if augmented else None

    def with_alignments(self, predictions: Sequence[Prediction]) -> Iterator[Prediction]:
        """Yield the predictions with word alignments, and without the maps that would fill the memory.

        Those of an engine without alignments stay as they are.

        >>> one = next(explainer.with_alignments(predictor.predict(["Good morning!"])))
        >>> one.explanation.link.pairs  # (source, target) positions from 0
        """
        if "alignments" not in self._setup.abilities.supported:
            yield from predictions
            return
        for start in range(0, len(predictions), EXPLAINED):
            some = predictions[start : start + EXPLAINED]
            for one, found in zip(some, self._attention(some), strict=True):
                yield self._with(one, replace(found, maps=[]))

    def state_relevance(
        self, predictions: Sequence[Prediction], method: str | Choice, layer: str
    ) -> list[WordRelevance]:
        """Return the relevance of each input word for each state of a layer, (state, token) by column.

        >>> (found,) = explainer.state_relevance(predictor.predict(["Good morning!"]), "lrp", "encoder")

        `layer` is encoder, decoder, or the name of any module of the model: https://aclanthology.org/P17-1106. Raises
        RegardError for a layer that does not exist, ConfigError for an unknown method.
        """
        choice = method_of(method)
        attribution, found = RELEVANCES.build(choice), list[WordRelevance]()
        model = attribution.model(self._model)
        for row in self._encoder.encode_answered(predictions):
            batch = self._task.batch([row]).to(model.device)
            found.append(state_relevance(self._task, model, batch, attribution, choice.name, layer))
        return found

    def with_state_relevance(
        self, predictions: Sequence[Prediction], method: str | Choice, layer: str
    ) -> list[Prediction]:
        """Return the predictions, each with `state_relevance` as its explanation. Raises as that does.

        >>> (one,) = explainer.with_state_relevance(predictor.predict(["Good morning!"]), "lrp", "encoder")
        """
        found = zip(predictions, self.state_relevance(predictions, method, layer), strict=True)
        task = self._task
        return [
            replace(one, explanation=_located(task, task.relevance.explanation(states), one.source))
            for one, states in found
        ]

    def with_reasons(
        self, predictions: Sequence[Prediction], methods: Iterable[str | Choice], progress: OnProgress = no_progress
    ) -> list[Prediction]:
        """Return explained predictions with the `reasons` of each method in their explanations, for comparison.

        >>> found = explainer.with_reasons(explainer.with_attention(predictions), ["lrp", "saliency"])

        A prediction without an explanation, as of a text that is too long for it, stays as it is. Raises as
        `relevance` does.
        """
        found = list(predictions)
        rows = [row for row, one in enumerate(found) if one.explanation is not None]
        for choice in map(method_of, methods):
            relevant = self.with_relevance([found[row] for row in rows], choice, progress)
            for row, one in zip(rows, relevant, strict=True):
                found[row] = _with_reason(found[row], choice.name, one.explanation)
        return found

    def with_own_explanations(
        self, predictions: Sequence[Prediction], methods: Sequence[str | Choice] = ()
    ) -> list[Prediction]:
        """Return the answers of another model, scored and explained by this one.

        >>> second.explainer.with_own_explanations(first.predict(["Good morning!"]), ["lrp"])

        The explanation is the attention, or the first of the methods; the others are `reasons`. Raises ConfigError
        where answers cannot be scored.
        """
        lines = map(self._task.texts.line, predictions)
        scored = self._predictor.score(lines, [one.text for one in predictions])
        given = [replace(one, source=other.source) for one, other in zip(scored, predictions, strict=True)]
        if not methods:
            return list(self.with_attention(given))
        return self.with_reasons(self.with_relevance(given, methods[0]), methods[1:])

    def with_search_tree(self, predictions: Sequence[Prediction], unwanted: Unwanted = frozenset) -> list[Prediction]:
        """Return the predictions of texts, each with the tree of a search for its source.

        >>> (one,) = explainer.with_search_tree(predictor.predict(["Good morning!"]))
        >>> one.search_tree()

        The run's search is repeated for each source alone, without a glossary. Answers that were copied, or are not
        texts of a search, have no tree. `unwanted` is called after every step. Raises ConfigError for a search that
        records no steps.
        """
        return [self._searched(one, unwanted) for one in predictions]

    def _searched(self, prediction: Prediction, unwanted: Unwanted) -> Prediction:
        column = self._task.vocabularies[self._task.last]
        trace = SearchTrace(lambda one: cast(TextColumn, column).pieces([one])[0])
        search = self._setup.search.traced(trace).until(unwanted)
        line, encoded = self._task.texts.line(prediction), None
        if isinstance(prediction, TextPrediction) and prediction.augmented:
            example = {**self._task.texts.given(line), self._task.first: prediction.augmented}
            encoded = self._task.encode([example])
        self._predictor.predict([line], search=search, encoded=encoded)
        if 0 not in trace.trees or not isinstance(prediction, TextPrediction):
            return prediction
        return replace(prediction, search=trace.trees[0])

    def _with(self, prediction: Prediction, found: Explanation) -> Prediction:
        shown = found if prediction.finished else without_end(found)
        return replace(prediction, explanation=_located(self._task, shown, prediction.source))


def _sentences(prediction: Prediction) -> Sequence[Prediction]:
    return prediction.parts if isinstance(prediction, DocumentPrediction) else [prediction]


def _located(task: Task, found: Explanation, source: str) -> Explanation:
    """Return an explanation with the place of each token in the text that was given, where its column has it."""
    if found.has_sides_alone:
        return found
    columns, given = dict(found.columns), task.texts.given(source)
    for name in task.inputs:
        if not found.column(name).offsets and (places := task.vocabularies[name].offsets(given[name])):
            offsets = [*(None if place is None else [*place] for place in places), None]  # the end has no place
            columns[name] = found.column(name)._replace(offsets=offsets)
    return replace(found, columns=columns)


def _with_reason(prediction: Prediction, method: str, reason: Explanation | None) -> Prediction:
    found = prediction.explanation
    if found is None or reason is None:
        return prediction
    return replace(prediction, explanation=replace(found, reasons={**found.reasons, method: reason}))
