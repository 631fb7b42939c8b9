"""POST /translate and POST /detect, as LibreTranslate answers them."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from regard.serve.api import documented
from regard.serve.api.access import admitted
from regard.serve.api.checking import (
    MAX_TOLD,
    asked_alternatives,
    asked_pair,
    asked_texts,
    check_languages,
    check_sizes,
)
from regard.serve.api.reading import Fields
from regard.serve.engine import Options
from regard.serve.errors import bad
from regard.serve.in_thread import in_thread
from regard.serve.languages import AUTO, outward
from regard.serve.service import Service
from regard.serve.translating import Detected, Kind, Question, Translated, check_pair, detect, translate

KINDS: dict[str, Kind] = {"text": "text", "html": "html"}
MAX_GUESSES = 3


def router(service: Service) -> APIRouter:
    """The two endpoints."""
    routes = APIRouter(tags=["LibreTranslate"])

    @routes.post("/translate", **documented.TRANSLATE)
    async def translate_texts(request: Request) -> JSONResponse:
        """Translate a text, or a list of them."""
        fields = await admitted(service, request)
        question, alternatives = _question(service, fields)
        request.state.pair = f"{question.source}-{question.target}"
        found = await translate(service, question)
        listed = isinstance(fields.values["q"], list)
        detected = question.source == AUTO
        return JSONResponse(_answer(found, detected=detected, alternatives=alternatives > 0, listed=listed))

    @routes.post("/detect", **documented.DETECT)
    async def detect_language(request: Request) -> JSONResponse:
        """Tell the language of a text, best guess first."""
        fields = await admitted(service, request)
        texts = asked_texts(fields.values.get("q"))
        check_sizes(texts, service.settings)
        guesses = await in_thread(sum(map(len, texts)), detect, service, "\n".join(texts))
        return JSONResponse([told(guess) for guess in guesses[:MAX_GUESSES]])

    return routes


def told(guess: Detected) -> dict[str, Any]:
    """A guess as clients read it."""
    return {"confidence": round(float(guess.confidence), 1), "language": outward(guess.language)}


def asked_kind(fields: Fields) -> Kind:
    """`format`. Raises ApiError for one that there is not."""
    name = fields.values.get("format") or "text"
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise bad(f"{str(name)[:MAX_TOLD]} format is not supported")
    return kind


def _question(service: Service, fields: Fields) -> tuple[Question, int]:
    """What is asked, and how many alternatives: every check in its order."""
    texts = asked_texts(fields.values.get("q"))
    source, target = asked_pair(fields)
    alternatives = asked_alternatives(fields.values.get("alternatives"), service.settings.alternatives_limit)
    check_sizes(texts, service.settings)
    check_languages(service.catalogue, source, target)
    kind = asked_kind(fields)
    if source != AUTO:
        check_pair(service.catalogue, source, target)
    n_best = 1 if kind == "html" else alternatives + 1
    return Question(texts, source, target, kind, Options(n_best=n_best)), alternatives


def _answer(found: list[Translated], *, detected: bool, alternatives: bool, listed: bool) -> dict[str, Any]:
    """A field is a list when `q` was."""
    columns: dict[str, list[Any]] = {"translatedText": [one.text for one in found]}
    if detected:
        columns["detectedLanguage"] = [told(one.detected) for one in found if one.detected is not None]
    if alternatives:
        columns["alternatives"] = [one.alternatives for one in found]
    return {name: column if listed else column[0] for name, column in columns.items()}
