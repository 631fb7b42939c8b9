"""POST /v1/alternatives: other words in place of one of a translation, and how it goes on after each."""

import math
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from regard.results import Prediction
from regard.serve.api import models
from regard.serve.api.access import admitted
from regard.serve.api.answers import Wanted, asked_engine, asked_line, json_answer, written
from regard.serve.api.documented import asked
from regard.serve.api.reading import JSON, read_values
from regard.serve.engine import Options, Predicts
from regard.serve.in_thread import LARGE, in_thread
from regard.serve.languages import inward, outward
from regard.serve.service import Service
from regard.serve.translating import Sentence


def router(service: Service) -> APIRouter:
    """The endpoint."""
    routes = APIRouter(prefix="/v1", tags=["Regard"])

    @routes.post("/alternatives", response_model=models.AlternativesAnswer, **asked(models.AlternativesQuestion, JSON))
    async def alternatives(request: Request) -> Response:
        """Other words in place of one of a translation, likeliest first; the rest is translated anew after each."""
        question = models.AlternativesQuestion.of(await admitted(service, request, read_values))
        engine = asked_engine(service, question)
        request.state.asked.pair = f"{inward(engine.source)}-{inward(engine.target)}"
        request.state.asked.count([question.source_text], engine.name)
        wanted = Wanted(service.settings.max_maps, Options(explain=True))
        seconds = service.settings.request_timeout
        texts = (asked_line(engine, question), question.target_text)
        prediction = await engine.rewrite(*texts, question.word, question.count, seconds=seconds)
        return await in_thread(LARGE, _answer, engine, prediction, question.word, wanted)

    return routes


def _answer(engine: Predicts, prediction: Prediction, word: int, wanted: Wanted) -> Response:
    codes = {"source": outward(inward(engine.source)), "target": outward(inward(engine.target))}
    found = [_alternative(other, word) for other in prediction.alternatives if other.explanation is not None]
    return json_answer({"model": engine.name, **codes, "alternatives": found}, wanted)


def _alternative(prediction: Prediction, word: int) -> dict[str, Any]:
    """An alternative as the page reads it, with the word that it has in that place and the word's probability."""
    sentence = written(Sentence("", prediction, ""))
    place = sentence["explanation"]["target_words"][word]
    probability = math.exp(sum(prediction.log_probs[piece] for piece in place["pieces"]))
    return {"word": place["text"], "probability": round(probability, 4), **sentence}
