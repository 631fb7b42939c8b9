"""POST /v1/predict: what any model answers to texts, or to examples by column."""

from collections.abc import Mapping, Sequence

from fastapi import APIRouter, Request
from fastapi.responses import Response

from regard.answers import ANSWERS
from regard.documents.numeral_faults import compared
from regard.errors import nearest
from regard.explain.page import to_json
from regard.results import Prediction, as_line, empty_answer
from regard.serve.api import models
from regard.serve.api.access import admitted
from regard.serve.api.answers import Wanted, check_maps, json_answer, named_engine
from regard.serve.api.checking import MAX_TOLD, check_sizes, missing
from regard.serve.api.documented import asked
from regard.serve.api.reading import JSON, read_values
from regard.serve.engine import Options, OutOfMemory, Predicts, Unreadable
from regard.serve.errors import bad
from regard.serve.in_thread import LARGE, in_thread
from regard.serve.languages import inward
from regard.serve.service import Service


def router(service: Service) -> APIRouter:
    """The endpoint."""
    routes = APIRouter(prefix="/v1", tags=["Regard"])

    @routes.post("/predict", response_model=models.PredictAnswer, **asked(models.PredictQuestion, JSON))
    async def predict(request: Request) -> Response:
        """Ask any model: a label with probabilities, a tag for each word, a place in a text, or a text."""
        question = models.PredictQuestion.of(await admitted(service, request, read_values))
        engine = _asked_engine(service, question.model)
        if question.n_best > 1 and not ANSWERS[engine.info["answers"]].written:
            raise bad(f"Invalid request: n_best: {engine.name} writes no texts to choose among")
        lines = _lines(engine, question)
        check_sizes(lines, service.settings)
        request.state.asked.pair = f"{inward(engine.source)}-{inward(engine.target)}" if engine.translates else ""
        request.state.asked.count(lines, engine.name)
        if question.maps:
            check_maps(*lines)
        options = Options(question.n_best, question.explain or question.maps, question.maps)
        found = await _predictions(engine, lines, options, service.settings.request_timeout)
        length = sum(map(len, lines))
        found = await in_thread(length, compared, found) if engine.translates else found
        size = LARGE if options.explain else length * options.n_best
        return await in_thread(size, _answer, engine, found, Wanted(service.settings.max_maps, options))

    return routes


async def _predictions(
    engine: Predicts, lines: Sequence[str], options: Options, seconds: float
) -> Sequence[Prediction]:
    """Answers to all lines; an empty one has an empty answer, and keeps no other from its own."""
    found = _blank(engine, lines)
    places = [place for place in range(len(lines)) if place not in found]
    try:
        told = await engine.predict([lines[place] for place in places], options, seconds=seconds) if places else []
    except Unreadable as fault:
        raise Unreadable(places[fault.index], fault.reason) from fault
    except OutOfMemory as fault:
        raise OutOfMemory(places[fault.index]) from fault
    found |= dict(zip(places, told, strict=True))
    return [found[place] for place in range(len(lines))]


def _asked_engine(service: Service, name: str | None) -> Predicts:
    """The model of that name; without one the first that is no translator, or the first of all."""
    if name is not None:
        return named_engine(service, name)
    engines = service.catalogue.engines
    return next((engine for engine in engines if not engine.translates), engines[0])


def _lines(engine: Predicts, question: models.PredictQuestion) -> list[str]:
    """What is asked as texts, with tabs between columns. Raises ApiError for other columns."""
    if question.texts and question.examples:
        raise bad("Invalid request: texts and examples: give one of them")
    if not question.texts and not question.examples:
        raise missing("texts")
    for number, text in enumerate(question.texts, start=1):
        count = text.count("\t") + 1
        if len(engine.given) > 1 and count != len(engine.given):
            fields = "field" if count == 1 else "fields"
            told = f"text {number} has {count} {fields}, and {engine.name} reads {len(engine.given)}"
            raise bad(f"Invalid request: {told}: {', a tab, '.join(engine.given)}")
    lines = question.texts or [_line(engine, number, one) for number, one in enumerate(question.examples, start=1)]
    return lines


def _blank(engine: Predicts, lines: Sequence[str]) -> dict[int, Prediction]:
    """Empty answers, by their numbers, to what has nothing to judge; what writes may go on from nothing."""
    if ANSWERS[engine.info["answers"]].written:
        return {}
    told = {number: empty_answer(engine.given, line) for number, line in enumerate(lines)}
    return {number: one for number, one in told.items() if one is not None}


def _line(engine: Predicts, number: int, example: Mapping[str, str]) -> str:
    """Raises ApiError for an example that lacks a column, or has another one."""
    strange = next((name for name in example if name not in engine.given), None)
    if strange is not None:
        hint = nearest(strange, engine.given)
        raise bad(f"Invalid request: example {number}: {strange[:MAX_TOLD]} is no column of {engine.name} ({hint})")
    lacking = next((name for name in engine.given if name not in example), None)
    if lacking is not None:
        raise bad(f"Invalid request: example {number} has no {lacking}, which {engine.name} reads")
    return as_line(example[name] for name in engine.given)


def _answer(engine: Predicts, predictions: Sequence[Prediction], wanted: Wanted) -> Response:
    told = to_json(predictions)["predictions"]
    return json_answer({"model": engine.name, "task": engine.info["task"], "predictions": told}, wanted)
