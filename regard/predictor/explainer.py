"""Explanations of answers: what a model looked at, what its words rest on by a method, hidden states and searches."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from regard.attention import is_recording
from regard.data.columns import TextColumn
from regard.data.examples import ColumnTexts
from regard.decoding import Search, SearchTrace, Unwanted
from regard.errors import RegardError
from regard.explain.maps import without_end
from regard.explain.relevance import RELEVANCES, method_of
from regard.explain.relevance.question import OnProgress, no_progress
from regard.explain.translation_faults import FaultFinder
from regard.predictor.batches import TextBatches
from regard.predictor.predictions import Predictions
from regard.registry import Choice
from regard.results import Explanation, Prediction, TextPrediction, WordRelevance
from regard.tasks import Task
from regard.tasks.example_texts import Ids
from regard.tasks.relevance import state_relevance, word_relevance
from regard.text.clean import clean

EXPLAINED = 256  # sentences whose maps are in memory at once
WIDTH_OF_MAPS = 4  # rows a sentence counts for when all that it looked at is kept


class Explainer(TextBatches):
    """The part of a predictor that explains: it needs answers and their scores, too."""

    search: Search
    fault_finder: FaultFinder | None  # by what a run counted; None: nothing was

    @abstractmethod
    def predict(self, texts: Iterable[str | ColumnTexts], *, search: Search | None = None) -> Predictions:
        """Return one prediction per text."""

    @abstractmethod
    def score(self, sources: Iterable[str], targets: Iterable[str]) -> Predictions:
        """Return how likely the model finds each given target."""

    def explain(
        self, texts: Iterable[str | ColumnTexts], *, by: str | Choice = "lrp", search: Search | None = None
    ) -> list[WordRelevance]:
        """Weigh how much each word that was read speaks for each word of the answer, by a row of RELEVANCES.

        >>> (found,) = predictor.explain(["Good morning!"], by="integrated_gradients")
        >>> found.array("source").values  # (item, token), labelled by found.items and found.tokens["source"]

        Raises ConfigError for an unknown method or setting, and RegardError where a model cannot be explained so.
        """
        return self.weighed(self.predict(texts, search=search), by)

    def weighed(self, predictions: Sequence[Prediction], by: str | Choice) -> list[WordRelevance]:
        """Weigh how much each word that was read speaks for each word of these answers."""
        pairs = zip(self._weighed(predictions, by), predictions, strict=True)
        return [found if one.finished else found.without_end() for found, one in pairs]

    def _weighed(
        self, predictions: Sequence[Prediction], by: str | Choice, progress: OnProgress = no_progress
    ) -> list[WordRelevance]:
        choice = method_of(by)
        method = RELEVANCES.build(choice)
        rows = self.answered(predictions)
        if is_recording():
            raise RegardError("relevance: it cannot be computed inside `recording`")
        model, found = method.model(self.model), list[WordRelevance]()
        for row in rows:
            batch = self.task.batch([row]).to(model.device)
            found.append(word_relevance(self.task, model, batch, method, choice.name, progress))
        return found

    def pictured(
        self, predictions: Sequence[Prediction], by: str | Choice, progress: OnProgress = no_progress
    ) -> Predictions:
        """The same predictions, each with the relevance of words by a method as its explanation.

        `progress` is called before every pass through the model; what it raises ends the explanation.
        """
        found = self._weighed(predictions, by, progress)
        return self._pictured(predictions, map(self.task.relevance.explanation, found))

    def explained(self, predictions: Sequence[Prediction]) -> Predictions:
        """The same predictions, each with what its pieces looked at as they were written, and what a lexicon says."""
        return self._pictured(predictions, self._explanations(predictions))

    def _pictured(self, predictions: Sequence[Prediction], explanations: Iterable[Explanation]) -> Predictions:
        pairs = zip(predictions, explanations, strict=True)
        return Predictions(self._diagnosed(self._with(one, found)) for one, found in pairs)

    def _diagnosed(self, prediction: Prediction) -> Prediction:
        if self.fault_finder is None or not isinstance(prediction, TextPrediction):
            return prediction
        return replace(prediction, lexicon=self.fault_finder.report(prediction.source, prediction.text))

    def _explanations(self, predictions: Sequence[Prediction]) -> list[Explanation]:
        rows = self.answered(predictions)
        return self.in_batches(rows, partial(self.task.explain, self.model), width=WIDTH_OF_MAPS, alone=True)

    def linked(self, predictions: Sequence[Prediction]) -> Iterator[Prediction]:
        """The same predictions with links between their words, without the maps that would fill the memory."""
        for start in range(0, len(predictions), EXPLAINED):
            some = predictions[start : start + EXPLAINED]
            for one, found in zip(some, self._explanations(some), strict=True):
                yield self._with(one, replace(found, maps=[]))

    def weighed_states(self, predictions: Sequence[Prediction], by: str | Choice, layer: str) -> list[WordRelevance]:
        """Weigh how much each word that was read is worth to each state of a layer, as the answers are written.

        `layer` is encoder, decoder, or the name of any module of the model: https://aclanthology.org/P17-1106. Raises
        RegardError for one that is not there.
        """
        choice = method_of(by)
        method, found = RELEVANCES.build(choice), list[WordRelevance]()
        model = method.model(self.model)
        for row in self.answered(predictions):
            batch = self.task.batch([row]).to(model.device)
            found.append(state_relevance(self.task, model, batch, method, choice.name, layer))
        return found

    def pictured_states(self, predictions: Sequence[Prediction], by: str | Choice, layer: str) -> list[Prediction]:
        """The same predictions, each with what words are worth to the states of a layer as its explanation."""
        found = zip(predictions, self.weighed_states(predictions, by, layer), strict=True)
        task = self.task
        return [
            replace(one, explanation=_located(task, task.relevance.explanation(states), one.source))
            for one, states in found
        ]

    def with_reasons(
        self, predictions: Sequence[Prediction], methods: Iterable[str | Choice], progress: OnProgress = no_progress
    ) -> list[Prediction]:
        """Explained predictions with the `reasons` of each method in their explanations, to be set side by side.

        One without an explanation, as of a text that is too long for it, stays as it is. Raises ConfigError for an
        unknown method, and RegardError where a method cannot explain this model.
        """
        found = list(predictions)
        rows = [row for row, one in enumerate(found) if one.explanation is not None]
        for choice in map(method_of, methods):
            weighed = self.pictured([found[row] for row in rows], choice, progress)
            for row, one in zip(rows, weighed, strict=True):
                found[row] = _with_reason(found[row], choice.name, one.explanation)
        return found

    def explained_beside(
        self, predictions: Sequence[Prediction], methods: Sequence[str | Choice] = ()
    ) -> list[Prediction]:
        """The answers of another model as this one scores and explains them: what it would rest them on.

        By what it looks at, or the first of the methods; the others are `reasons`. Raises ConfigError where answers
        cannot be scored.
        """
        lines = map(self.task.texts.line, predictions)
        scored = self.score(lines, [one.text for one in predictions])
        given = [replace(one, source=other.source) for one, other in zip(scored, predictions, strict=True)]
        if not methods:
            return list(self.explained(given))
        return self.with_reasons(self.pictured(given, methods[0]), methods[1:])

    def with_search(self, predictions: Sequence[Prediction], unwanted: Unwanted = frozenset) -> list[Prediction]:
        """The predictions of texts, each with the tree of a search of its source, whatever its own text is.

        Each source is searched anew by the run's search, alone and without a glossary. What is copied, or is no text
        that a search writes, has no tree. Raises ConfigError for a search that tells no steps.
        `unwanted` is asked after every step.
        """
        return [self._searched(one, unwanted) for one in predictions]

    def _searched(self, prediction: Prediction, unwanted: Unwanted) -> Prediction:
        column = self.task.vocabularies[self.task.last]
        trace = SearchTrace(lambda one: cast(TextColumn, column).pieces([one])[0])
        self.predict([self.task.texts.line(prediction)], search=self.search.traced(trace).until(unwanted))
        if 0 not in trace.trees or not isinstance(prediction, TextPrediction):
            return prediction
        return replace(prediction, search=trace.trees[0])

    def answered(self, predictions: Sequence[Prediction]) -> list[Ids]:
        """The ids of predictions with their answers."""
        self.encode(self.given([prediction.source for prediction in predictions]))
        answered = self.task.texts.answered
        return [answered(replace(one, source=clean(one.source))) for one in predictions]

    def _with(self, prediction: Prediction, found: Explanation) -> Prediction:
        shown = found if prediction.finished else without_end(found)
        return replace(prediction, explanation=_located(self.task, shown, prediction.source))


def _located(task: Task, found: Explanation, source: str) -> Explanation:
    """Return an explanation with the place of each token in the text that was given, where its column tells it."""
    if found.has_sides_alone:
        return found
    columns = dict(found.columns)
    for name, value in task.texts.given(source).items():
        if places := task.vocabularies[name].offsets(value):
            offsets = [*(None if place is None else [*place] for place in places), None]  # the end has no place
            columns[name] = found.column(name)._replace(offsets=offsets)
    return replace(found, columns=columns)


def _with_reason(prediction: Prediction, method: str, reason: Explanation | None) -> Prediction:
    found = prediction.explanation
    if found is None or reason is None:
        return prediction
    return replace(prediction, explanation=replace(found, reasons={**found.reasons, method: reason}))
