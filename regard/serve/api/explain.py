"""POST /v1/explain and /v1/alternatives: a model's analysis of a text and a given translation of any origin."""

import math
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from regard.errors import nearest
from regard.explain.page import page, to_json
from regard.results import Prediction
from regard.serve.api import models
from regard.serve.api.access import admitted
from regard.serve.api.answers import AnswerLimit, asked_pair, json_answer, sentence_json
from regard.serve.api.checking import check_sizes, missing
from regard.serve.api.request_body import read_values
from regard.serve.catalogue import ServedModel
from regard.serve.engine.questions import MAX_METHODS, Alternatives, Explain, GivenText, Similar
from regard.serve.errors import bad
from regard.serve.in_thread import LARGE, in_thread
from regard.serve.languages import AUTO
from regard.serve.memories import MemoryQuery
from regard.serve.security import OWN_PAGE
from regard.serve.service import Service
from regard.serve.settings import MIB
from regard.serve.telemetry import Asked
from regard.serve.translating import Sentence, check_explains, check_pair
from regard.text.windows import SENTENCE_TAB, with_window


async def explain_given(service: Service, request: Request) -> Response:
    """Score a given translation, and return what each word attends to, or the words that speak for it."""
    question = models.ExplainQuestion.of(await admitted(service, request, read_values))
    model = _asked_model(service, question, request.state.asked)
    methods = model.card.get("methods", [])
    for field, method in (
        *[("method", question.method)] * bool(question.method),
        *(("reasons", one) for one in question.reasons),
    ):
        if method not in methods:
            raise bad(f"{field}: there is no method {method[:40]} ({nearest(method, methods)})")
    if len(question.reasons) > MAX_METHODS:
        raise bad(f"Invalid request: reasons: {len(question.reasons):,} are more than {MAX_METHODS}")
    (text, problem), reasons = await _text_of(service, model, question), (*dict.fromkeys(question.reasons),)
    asked_for = Explain((text,), method=question.method, reasons=reasons, steps=question.steps)
    wanted = AnswerLimit(service.settings.max_maps, asked_for)
    [prediction] = await model.ask(asked_for, seconds=service.settings.request_timeout)
    prediction = prediction.warned(problem)
    if question.html:
        return await in_thread(LARGE, _page, prediction, wanted)
    return await in_thread(LARGE, _explained, model, prediction, wanted)


async def alternatives(service: Service, request: Request) -> Response:
    """Return other words in place of one of a translation, likeliest first; the rest is translated again."""
    question = models.AlternativesQuestion.of(await admitted(service, request, read_values))
    model = _asked_model(service, question, request.state.asked)
    check_explains(model, "/v1/alternatives")  # its answer has explanations
    text, problem = await _text_of(service, model, question)
    asked_for = Alternatives((text,), word=question.word, count=question.count)
    wanted = AnswerLimit(service.settings.max_maps, asked_for)
    [prediction] = await model.ask(asked_for, seconds=service.settings.request_timeout)
    return await in_thread(LARGE, _rewritten, model, prediction, question.word, problem, wanted)


def _asked_model(service: Service, question: models.ForcedQuestion, asked: Asked) -> ServedModel:
    """Check the request and return the model that it asks, noted in `asked`.

    Raises ApiError.
    """
    for name, text in (("source_text", question.source_text), ("target_text", question.target_text)):
        if not text.strip():
            raise missing(name)
    check_sizes([question.source_text, question.target_text], service.settings)
    check_sizes([question.document], service.settings)
    if question.source == AUTO and question.model is None:
        raise missing("source")
    source, target, chosen = asked_pair(service, question)
    model = chosen or check_pair(service.catalogue, source, target)
    if model is None:
        raise bad("Invalid request: source and target are one language, so there is nothing to explain")
    asked.pair = model.pair
    asked.count([question.source_text], model)
    return model


async def _text_of(service: Service, model: ServedModel, question: models.ForcedQuestion) -> tuple[GivenText, str]:
    """Return a text as the model reads it, with its document or similar segments, and its translation.

    Also returns why similar segments may be missing; "": none are.
    """
    most, similar, problem = model.read_together, Similar(), ""
    memory = service.memories.of(*model.languages) if question.memory and model.reads_memory else None
    if memory is not None:
        (known,) = await memory.recall([MemoryQuery("", [question.source_text])], reads=model.reads_memory)
        similar, problem = known.read[0] if known.read else (), known.problem
    if most == 1:
        return GivenText(question.source_text, question.target_text, similar), problem
    if question.document.count(SENTENCE_TAB) >= most:
        raise bad(
            f"Invalid request: document has {question.document.count(SENTENCE_TAB) + 1} sentences, and {most} are read"
        )
    line = with_window(" ".join(question.source_text.split(SENTENCE_TAB)), question.document)
    return GivenText(line, question.target_text, similar), problem


def _explained(model: ServedModel, prediction: Prediction, wanted: AnswerLimit) -> Response:
    return json_answer(
        {"model": model.name, **model.codes, "sentence": sentence_json(Sentence("", prediction, ""))}, wanted
    )


def _page(prediction: Prediction, wanted: AnswerLimit) -> Response:
    text = page(to_json([prediction]), title="Regard")
    wanted._replace(limit=wanted.limit + MIB).check(len(text))  # and the page itself
    return HTMLResponse(text, headers={"Content-Security-Policy": OWN_PAGE})


def _rewritten(model: ServedModel, prediction: Prediction, word: int, problem: str, wanted: AnswerLimit) -> Response:
    explained = [other.warned(problem) for other in prediction.alternatives if other.explanation is not None]
    found = [_alternative(other, word) for other in explained]
    return json_answer({"model": model.name, **model.codes, "alternatives": found}, wanted)


def _alternative(prediction: Prediction, word: int) -> dict[str, Any]:
    """Return an alternative in the page's form, with its word in that place and the word's probability."""
    sentence = sentence_json(Sentence("", prediction, ""))
    place = sentence["explanation"]["target_words"][word]
    probability = math.exp(sum(prediction.log_probs[piece] for piece in place["pieces"]))
    return {"word": place["text"], "probability": round(probability, 4), **sentence}
