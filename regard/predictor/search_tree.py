"""Answers with what the search held and dropped on the way to them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from regard.data.columns import TextColumn
from regard.decoding import SearchTrace, Unwanted
from regard.predictor.predictor import Predictor
from regard.results import Prediction, TextPrediction


def with_search(
    predictor: Predictor, predictions: Sequence[Prediction], unwanted: Unwanted = frozenset
) -> list[Prediction]:
    """Return the predictions of texts, each with the tree of a search of its source, whatever its own text is.

    Each source is searched anew by the run's search, alone and without a glossary. What is copied, or is no text that a
    search writes, has no tree. Raises ConfigError for a search that tells no steps.
    `unwanted` is asked after every step.
    """
    return [_searched(predictor, one, unwanted) for one in predictions]


def _searched(predictor: Predictor, prediction: Prediction, unwanted: Unwanted) -> Prediction:
    column = predictor.task.vocabularies[predictor.task.last]
    trace = SearchTrace(lambda one: cast(TextColumn, column).pieces([one])[0])
    predictor.predict([predictor.task.line(prediction)], search=predictor.search.traced(trace).until(unwanted))
    if 0 not in trace.trees or not isinstance(prediction, TextPrediction):
        return prediction
    return replace(prediction, search=trace.trees[0])
