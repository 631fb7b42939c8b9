"""POST /translate and POST /detect, as in LibreTranslate."""

from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from regard.serve.api.access import admitted
from regard.serve.api.apertium import apertium_answer, apertium_error
from regard.serve.api.checking import MAX_QUOTED, asked_texts, check_libretranslate_sizes, check_served
from regard.serve.api.libretranslate import DetectQuestion, TextQuestion
from regard.serve.detection import Detected, detect
from regard.serve.engine.questions import Predict
from regard.serve.errors import bad
from regard.serve.in_thread import in_thread
from regard.serve.languages import AUTO, outward
from regard.serve.service import Service
from regard.serve.settings import NO_LIMIT
from regard.serve.translating import Kind, Translated, TranslationRequest, check_pair, translate

KINDS: dict[str, Kind] = {"text": "text", "html": "html"}
MAX_GUESSES, APERTIUM = 3, "apertium"


async def translate_texts(service: Service, request: Request) -> Response:
    """Translate a text, or a list of texts. A question of Apertium, with a `langpair`, is answered in its form."""
    values = await admitted(service, request)
    if "langpair" in values and APERTIUM in service.settings.programs:
        request.state.error_form = apertium_error
        return await apertium_answer(service, request, values)
    question = TextQuestion.of(values)
    whole = _checked(service, question)
    request.state.asked.pair = f"{question.source}-{question.target}"
    found = await translate(service, whole, request.state.asked)
    return JSONResponse(_answer(found, question))


async def detect_language(service: Service, request: Request) -> JSONResponse:
    """Detect the language of a text, best guess first."""
    texts = asked_texts(DetectQuestion.of(await admitted(service, request)).q)
    check_libretranslate_sizes(texts, service.settings)
    request.state.asked.count(texts)
    guesses = await in_thread(sum(map(len, texts)), detect, service, "\n".join(texts))
    return JSONResponse([client_guess(guess) for guess in guesses[:MAX_GUESSES]])


def client_guess(guess: Detected) -> dict[str, Any]:
    """Return a guess in the clients' form."""
    return {"confidence": round(float(guess.confidence), 1), "language": outward(guess.language)}


def _checked(service: Service, question: TextQuestion) -> TranslationRequest:
    """Return the question after the rest of LibreTranslate's checks, in its order."""
    texts, source, target = asked_texts(question.q), question.source, question.target
    limit = service.settings.alternatives_limit
    if NO_LIMIT != limit < question.alternatives:
        raise bad(f"Invalid request: alternatives parameter must be <= {limit}")
    check_libretranslate_sizes(texts, service.settings)
    check_served(service.catalogue, source, target)
    name = question.format or "text"
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise bad(f"{str(name)[:MAX_QUOTED]} format is not supported")
    if source != AUTO:
        check_pair(service.catalogue, source, target)
    n_best = 1 if kind == "html" else question.alternatives + 1
    wanted = Predict((), n_best=n_best)
    memory, similar = question.memory is not False, bool(question.memory)
    return TranslationRequest(texts, source, target, kind, wanted, memory=memory, similar=similar)


def _answer(found: list[Translated], question: TextQuestion) -> dict[str, Any]:
    """Return a list if `q` was one, else its only item."""
    columns: dict[str, list[Any]] = {"translatedText": [one.text for one in found]}
    if question.source == AUTO:
        columns["detectedLanguage"] = [client_guess(one.detected) for one in found if one.detected is not None]
    if any(one.warnings for one in found):
        columns["warnings"] = [one.warnings for one in found]
    if question.memory:
        columns["memory"] = [_segments(one) for one in found]
    if question.alternatives:
        columns["alternatives"] = [one.alternatives for one in found]
    return {name: column if isinstance(question.q, list) else column[0] for name, column in columns.items()}


def _segments(one: Translated) -> list[dict[str, Any]]:
    """Return the segment most like each sentence, where there is one."""
    best = [matches[0]._asdict() for matches in one.matches if matches]
    return [{name: segment[name] for name in ("percent", "source", "target", "differs")} for segment in best]
