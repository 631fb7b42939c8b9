"""POST /v1/predict: answers of any model to texts, or to examples by column."""

from collections.abc import Mapping, Sequence

from fastapi import Request
from fastapi.responses import Response

from regard.errors import ConfigError, nearest
from regard.explain.page import to_json
from regard.results import Prediction, as_line
from regard.serve.api import models
from regard.serve.api.access import admitted
from regard.serve.api.answers import AnswerLimit, check_maps, json_answer, model_of_name
from regard.serve.api.checking import MAX_QUOTED, check_sizes, missing
from regard.serve.api.request_body import read_values
from regard.serve.catalogue import ServedModel
from regard.serve.engine.faults import OutOfMemory, Unreadable
from regard.serve.engine.questions import Predict
from regard.serve.errors import bad
from regard.serve.in_thread import LARGE, in_thread
from regard.serve.service import Service
from regard.serve.translating import check_explains


async def predict_any(service: Service, request: Request) -> Response:
    """Predict with any model: a label with probabilities, a tag for each word, a span of a text, or a text."""
    question = models.PredictQuestion.of(await admitted(service, request, read_values))
    model = _asked_model(service, question.model)
    if question.n_best > 1:
        _check_n_best(model, question.n_best)
    explain = question.explain or question.maps
    if explain:
        check_explains(model)
    lines = _lines(model, question)
    check_sizes(lines, service.settings)
    request.state.asked.pair = model.pair
    request.state.asked.count(lines, model)
    if question.maps:
        check_maps(*lines)
    asked_for = Predict.lines(lines, n_best=question.n_best, explain=explain, maps=question.maps)
    found = await _predictions(model, asked_for, service.settings.request_timeout)
    length = sum(map(len, lines))
    found = await in_thread(length, model.checked, found)
    size = LARGE if explain else length * question.n_best
    return await in_thread(size, _answer, model, found, AnswerLimit(service.settings.max_maps, asked_for))


async def _predictions(model: ServedModel, question: Predict, seconds: float) -> Sequence[Prediction]:
    """Return the answers to all lines; an empty line has an empty answer and does not affect the others."""
    lines = question.texts
    blank = {place: model.empty_answer(line.source) for place, line in enumerate(lines)}
    found = {place: one for place, one in blank.items() if one is not None}
    places = [place for place in range(len(lines)) if place not in found]
    try:
        answers = await model.ask(question.of(lines[place] for place in places), seconds=seconds) if places else []
    except Unreadable as fault:
        raise Unreadable(places[fault.index], fault.reason) from fault
    except OutOfMemory as fault:
        raise OutOfMemory(places[fault.index]) from fault
    found |= dict(zip(places, answers, strict=True))
    return [found[place] for place in range(len(lines))]


def _check_n_best(model: ServedModel, count: int) -> None:
    """Raise ApiError for more answers than a model has."""
    try:
        model.answer.check_n_best(count, model.known, "n_best")
    except ConfigError as error:
        raise bad(f"Invalid request: {model.name}: {error}") from error


def _asked_model(service: Service, name: str | None) -> ServedModel:
    """Return the model of a name; without one the first that is not a translator, or else the first."""
    if name is not None:
        return model_of_name(service, name)
    served = service.catalogue.models
    return next((model for model in served if not model.languages), served[0])


def _lines(model: ServedModel, question: models.PredictQuestion) -> list[str]:
    """Return the texts of a request, columns separated by tabs. Raises ApiError for other columns."""
    if question.texts and question.examples:
        raise bad("Invalid request: give either texts or examples, not both")
    if not question.texts and not question.examples:
        raise missing("texts")
    for number, text in enumerate(question.texts, start=1):
        count = text.count("\t") + 1
        if len(model.given) > 1 and count != len(model.given):
            fields = "field" if count == 1 else "fields"
            problem = f"text {number} has {count} {fields}, and {model.name} reads {len(model.given)}"
            raise bad(f"Invalid request: {problem}: {', a tab, '.join(model.given)}")
    lines = question.texts or [_line(model, number, one) for number, one in enumerate(question.examples, start=1)]
    return lines


def _line(model: ServedModel, number: int, example: Mapping[str, str]) -> str:
    """Raise ApiError for an example that lacks a column, or has an unknown one."""
    strange = next((name for name in example if name not in model.given), None)
    if strange is not None:
        hint = nearest(strange, model.given)
        raise bad(f"Invalid request: example {number}: {strange[:MAX_QUOTED]} is not a column of {model.name} ({hint})")
    lacking = next((name for name in model.given if name not in example), None)
    if lacking is not None:
        raise bad(f"Invalid request: example {number} lacks the column {lacking} of {model.name}")
    return as_line(example[name] for name in model.given)


def _answer(model: ServedModel, predictions: Sequence[Prediction], wanted: AnswerLimit) -> Response:
    found = to_json(predictions)["predictions"]
    return json_answer({"model": model.name, "task": model.card["task"], "predictions": found}, wanted)
