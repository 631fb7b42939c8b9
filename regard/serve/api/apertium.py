"""The API of Apertium APy: GET or POST /translate with a `langpair`. https://wiki.apertium.org/wiki/Apertium-apy

LibreTranslate has a POST /translate, too: its questions have no `langpair`.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Request, Response
from pydantic import BaseModel, Field
from pydantic_core import ErrorDetails
from starlette.datastructures import Headers

from regard.serve.api.access import admitted
from regard.serve.api.checking import check_served, check_sizes
from regard.serve.api.endpoint import Endpoint, queried
from regard.serve.api.models import Checked
from regard.serve.detection import detect
from regard.serve.errors import ApiError, bad, plain_error
from regard.serve.in_thread import in_thread
from regard.serve.languages import ENGLISH, name_of, outward, served_code
from regard.serve.service import Service
from regard.serve.translating import Kind, TranslationRequest, check_pair, translate

KINDS_OF_FORMAT: dict[str, Kind] = {"html": "html"}  # all other formats are plain text


class ApertiumQuestion(Checked):
    """A text; what only Apertium's dictionaries know is ignored."""

    langpair: Annotated[str, Field(pattern=r"^[^|]+\|[^|]+$")]
    q: Annotated[str, Field(min_length=1)]
    format: str = ""

    @classmethod
    def refusal(cls, field: str, fault: ErrorDetails) -> ApiError:
        """Return the error of a field."""
        return bad(f"{field}: {'en|de is expected' if field == 'langpair' else 'a text is expected'}")


class TranslatedText(BaseModel):
    """A translation."""

    translatedText: str  # noqa: N815  as Apertium spells it


class ApertiumAnswer(BaseModel):
    """An answer of Apertium APy."""

    responseData: TranslatedText  # noqa: N815  as Apertium spells it
    responseDetails: str | None = None  # noqa: N815  as its API spells it
    responseStatus: int = HTTPStatus.OK  # noqa: N815  as its API spells it


async def apertium_translate(service: Service, request: Request) -> Response:
    """Translate a text, as Apertium APy does. A question of LibreTranslate (source, target) is a POST."""
    values = await admitted(service, request)
    if "langpair" not in values and not values.keys().isdisjoint(("source", "target")):
        request.state.error_form = plain_error
        raise ApiError(405, "Method Not Allowed: send q, source and target with POST", {"Allow": "POST"})
    return await apertium_answer(service, request, values)


async def apertium_answer(service: Service, request: Request, values: Mapping[str, Any]) -> Response:
    """Return the translation of an admitted request.

    JSON as Apertium APy writes it: ASCII, and a space after each colon. OmegaT finds the text by that string.
    """
    question = ApertiumQuestion.of(values)
    check_sizes([question.q], service.settings)
    catalogue = service.catalogue
    source, target = (served_code(code.strip(), catalogue.languages) for code in question.langpair.split("|"))
    check_served(catalogue, source, target)
    check_pair(catalogue, source, target)
    request.state.asked.pair = f"{source}-{target}"
    whole = TranslationRequest([question.q], source, target, KINDS_OF_FORMAT.get(question.format, "text"))
    [found] = await translate(service, whole, request.state.asked)
    answer = ApertiumAnswer(responseData=TranslatedText(translatedText=found.text))
    return Response(json.dumps(answer.model_dump()), media_type="application/json")


async def list_pairs(service: Service, _: Request) -> dict[str, Any]:
    """Return the pairs of languages that are translated."""
    pairs = [{"sourceLanguage": _code(one), "targetLanguage": _code(other)} for one, other in service.catalogue.pairs]
    return {"responseData": pairs, "responseDetails": None, "responseStatus": HTTPStatus.OK}


async def identify_language(service: Service, request: Request) -> dict[str, float]:
    """Return the likely languages of a text with their probability."""
    text = (await admitted(service, request)).get("q")
    if not isinstance(text, str) or not text:
        raise bad("q: a text is expected")
    check_sizes([text], service.settings)
    request.state.asked.count([text])
    guesses = await in_thread(len(text), detect, service, text)
    return {_code(guess.language): round(float(guess.confidence) / 100, 3) for guess in guesses}


async def list_language_names(service: Service, request: Request) -> dict[str, str]:
    """Return the names of the served languages in the language `locale`."""
    reader = request.query_params.get("locale") or ENGLISH
    return {_code(code): name_of(code, reader[:20]) for code in service.catalogue.languages}


def apertium_error(error: ApiError) -> tuple[int, dict[str, Any]]:
    """Return an error in Apertium's two forms: of its own pages, and of programs that read `responseDetails`."""
    status = HTTPStatus(error.status)
    own = {"status": "error", "code": status, "message": status.phrase, "explanation": error.message}
    return status, {**own, "responseData": None, "responseDetails": error.message, "responseStatus": status}


def apertium_path(method: str, path: str, _: Headers) -> str | None:
    """Return the path of Apertium's endpoint for a request; None for a request of another API."""
    path = f"/{path.lstrip('/')}"  # OmegaT writes two slashes after an address that ends with one
    return path if path in _PATHS and (path, method) != ("/translate", "POST") else None


def _code(code: str) -> str:
    """Return Apertium's code of a language: `zt` → zh_Hant."""
    return "zh" if code == "zh" else outward(code).replace("-", "_")


_ERROR = ("explanation", "responseDetails")  # texts of an error
_TEXT = {"q": "text", "key": "API key, if the server requires one"}
_TRANSLATED = queried({"langpair": "languages: en|de", "format": "html or txt", **_TEXT}, "langpair", "q", error=_ERROR)
_IDENTIFY = Endpoint(identify_language, "Apertium", dict[str, float], queried(_TEXT, "q", error=_ERROR))
_NAMES = queried({"locale": "language of the names"}, error=_ERROR)
APERTIUM_ENDPOINTS = (
    ("/translate", Endpoint(apertium_translate, "Apertium", ApertiumAnswer, _TRANSLATED, needs_model=True)),
    ("/listPairs", Endpoint(list_pairs, "Apertium", dict[str, Any], queried({}, error=_ERROR))),
    ("/identifyLang", _IDENTIFY),
    ("/identifyLang", _IDENTIFY._replace(method="POST")),
    ("/listLanguageNames", Endpoint(list_language_names, "Apertium", dict[str, str], _NAMES)),
)
_PATHS = {path for path, _ in APERTIUM_ENDPOINTS}
