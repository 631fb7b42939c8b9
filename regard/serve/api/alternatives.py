"""POST /v1/alternatives: other words in place of one of a translation, and how it goes on after each."""

import math
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from regard.results import Prediction
from regard.serve.api import models
from regard.serve.api.access import admitted
from regard.serve.api.answers import Wanted, asked_model, asked_pair_of_texts, json_answer, written
from regard.serve.api.documented import asked, needs_model
from regard.serve.api.request_body import JSON, read_values
from regard.serve.catalogue import Model
from regard.serve.engine import Alternatives
from regard.serve.in_thread import LARGE, in_thread
from regard.serve.service import Service
from regard.serve.translating import Sentence


def router(service: Service) -> APIRouter:
    """The endpoint."""
    routes = APIRouter(prefix="/v1", tags=["Regard"])

    @routes.post("/alternatives", response_model=models.AlternativesAnswer, **asked(models.AlternativesQuestion, JSON))
    @needs_model
    async def alternatives(request: Request) -> Response:
        """Other words in place of one of a translation, likeliest first; the rest is translated anew after each."""
        question = models.AlternativesQuestion.of(await admitted(service, request, read_values))
        model = asked_model(service, question, request.state.asked)
        texts = (asked_pair_of_texts(model, question),)
        asked_for = Alternatives(texts, word=question.word, count=question.count)
        wanted = Wanted(service.settings.max_maps, asked_for)
        [prediction] = await model.ask(asked_for, seconds=service.settings.request_timeout)
        return await in_thread(LARGE, _answer, model, prediction, question.word, wanted)

    return routes


def _answer(model: Model, prediction: Prediction, word: int, wanted: Wanted) -> Response:
    found = [_alternative(other, word) for other in prediction.alternatives if other.explanation is not None]
    return json_answer({"model": model.name, **model.codes, "alternatives": found}, wanted)


def _alternative(prediction: Prediction, word: int) -> dict[str, Any]:
    """An alternative as the page reads it, with the word that it has in that place and the word's probability."""
    sentence = written(Sentence("", prediction, ""))
    place = sentence["explanation"]["target_words"][word]
    probability = math.exp(sum(prediction.log_probs[piece] for piece in place["pieces"]))
    return {"word": place["text"], "probability": round(probability, 4), **sentence}
