"""POST /v1/predict: what any model answers to texts, or to examples by column."""

from collections.abc import Mapping, Sequence

from fastapi import APIRouter, Request
from fastapi.responses import Response

from regard.errors import nearest
from regard.explain.page import to_json
from regard.results import Prediction, as_line
from regard.serve.api import models
from regard.serve.api.access import admitted
from regard.serve.api.answers import Wanted, check_maps, json_answer, named_engine
from regard.serve.api.checking import MAX_TOLD, check_sizes, missing
from regard.serve.api.documented import asked
from regard.serve.api.reading import JSON, read_values
from regard.serve.engine import Options, Predicts
from regard.serve.errors import bad
from regard.serve.in_thread import LARGE, in_thread
from regard.serve.service import Service


def router(service: Service) -> APIRouter:
    """The endpoint."""
    routes = APIRouter(prefix="/v1", tags=["Regard"])

    @routes.post("/predict", response_model=models.PredictAnswer, **asked(models.PredictQuestion, JSON))
    async def predict(request: Request) -> Response:
        """Ask any model: a label with probabilities, a tag for each word, a place in a text, or a text."""
        question = models.PredictQuestion.of(await admitted(service, request, read_values))
        engine = _asked_engine(service, question.model)
        if question.n_best > 1 and engine.info["answers"] != "text":
            raise bad(f"Invalid request: n_best: {engine.name} writes no texts to choose among")
        lines = _lines(engine, question)
        check_sizes(lines, service.settings)
        if question.maps:
            check_maps(*lines)
        options = Options(question.n_best, question.explain or question.maps, question.maps)
        found = await engine.predict(lines, options, seconds=service.settings.request_timeout)
        size = LARGE if options.explain else sum(map(len, lines)) * options.n_best
        return await in_thread(size, _answer, engine, found, Wanted(service.settings.max_maps, options))

    return routes


def _asked_engine(service: Service, name: str | None) -> Predicts:
    """The model of that name; without one the first that is no translator, or the first of all."""
    if name is not None:
        return named_engine(service, name)
    engines = service.catalogue.engines
    return next((engine for engine in engines if not engine.translates), engines[0])


def _lines(engine: Predicts, question: models.PredictQuestion) -> list[str]:
    """What is asked as texts, with tabs between columns. Raises ApiError for other columns, and for empty ones."""
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
    _check_filled(engine, "text" if question.texts else "example", lines)
    return lines


def _check_filled(engine: Predicts, kind: str, lines: Sequence[str]) -> None:
    """Raises ApiError where there is nothing to judge; what writes may go on from nothing."""
    if engine.info["answers"] == "text":
        return
    for number, line in enumerate(lines, start=1):
        empty = next((name for name, value in zip(engine.given, _values(engine, line), strict=True) if not value), None)
        if empty is not None:
            raise bad(f"Invalid request: {kind} {number}: its {empty} is empty")


def _values(engine: Predicts, line: str) -> list[str]:
    """Of each column, without the spaces around it."""
    return [value.strip() for value in (line.split("\t") if len(engine.given) > 1 else [line])]


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
