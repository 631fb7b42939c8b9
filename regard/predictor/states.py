"""Hidden states explained by words, as in https://aclanthology.org/P17-1106."""

from collections.abc import Sequence
from dataclasses import replace

from regard.explain.relevance import RELEVANCES, method_of
from regard.predictor.predictor import Predictor
from regard.registry import Choice
from regard.results import Prediction, WordRelevance
from regard.tasks.relevance import state_relevance


def weighed_states(
    predictor: Predictor, predictions: Sequence[Prediction], by: str | Choice, layer: str
) -> list[WordRelevance]:
    """How much each word that was read is worth to each state of a layer, as the answers are written.

    `layer` is encoder, decoder, or the name of any module of the model. Raises RegardError for one that is not there.
    """
    choice = method_of(by)
    method, found = RELEVANCES.build(choice), list[WordRelevance]()
    model, task = method.model(predictor.model), predictor.task
    for row in predictor.answered(predictions):
        batch = task.batch([row]).to(model.device)
        found.append(state_relevance(task, model, batch, method, choice.name, layer))
    return found


def pictured_states(
    predictor: Predictor, predictions: Sequence[Prediction], by: str | Choice, layer: str
) -> list[Prediction]:
    """Return the predictions, each with what words are worth to the states of a layer as its explanation."""
    found = weighed_states(predictor, predictions, by, layer)
    task = predictor.task
    return [
        replace(one, explanation=task.located(task.pictured(states), one.source))
        for one, states in zip(predictions, found, strict=True)
    ]
