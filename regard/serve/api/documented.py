"""What the OpenAPI document says of questions that are read by hand."""

from typing import Any

from fastapi.responses import Response
from pydantic import BaseModel

JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"


def _object(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


def _text(description: str, example: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **({"examples": [example]} if example else {}), **more}


def _one_or_list(item: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [item, {"type": "array", "items": item}]}


def _response(description: str, schema: dict[str, Any], kind: str = JSON) -> dict[str, Any]:
    return {"description": description, "content": {kind: {"schema": schema}}}


def _binary(description: str) -> dict[str, Any]:
    return _response(description, {"type": "string", "format": "binary"}, "application/octet-stream")


def described(bodies: dict[str, dict[str, Any]], answer: dict[str, Any], *statuses: int) -> dict[str, Any]:
    """Arguments of a route: its bodies by kind, what it answers, and the ways it may refuse."""
    responses = {200: _response("The answer", answer), **refusals(400, *statuses)}
    body = {"required": True, "content": {kind: {"schema": schema} for kind, schema in bodies.items()}}
    return {"responses": responses, "openapi_extra": {"requestBody": body} if bodies else None}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The ways a question may be refused; the usual ones if none are named."""
    return {status: _response(WHY[status], ERROR) for status in statuses or (400, *USUAL)}


def asked(model: type[BaseModel]) -> dict[str, Any]:
    """A body in JSON, read by hand and checked by a model."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": model.model_json_schema()}}}}


WHY = {
    400: "The request is wrong; `error` says what",
    401: "The token is missing or wrong",
    403: "The API key is wrong, or the server does not offer this",
    404: "There is nothing here",
    413: "The request, or what it asks for, is too large",
    415: "The request is compressed",
    429: "Too many requests; ask again after `Retry-After` seconds",
    503: "Loading, ending or too slow; ask again after `Retry-After` seconds",
}
ERROR = _object(["error"], error=_text("What is wrong"))
USUAL = (403, 413, 415, 429, 503)
KEY = _text("An API key, where the server needs one")
_Q = _text("What to translate", "The old man reads a book.", minLength=1)
_LANGUAGES = {
    "source": _text("Code of its language, or `auto`", "en", minLength=1),
    "target": _text("Code of the language to translate into", "de", minLength=1),
}
_DETECTED = _object(["confidence", "language"], confidence={"type": "number"}, language=_text("Code", "en"))
_ALTERNATIVES = {"type": "array", "items": {"type": "string"}}


def _translate(q: dict[str, Any]) -> dict[str, Any]:
    return _object(
        ["q", "source", "target"],
        q=q,
        **_LANGUAGES,
        format={"type": "string", "enum": ["text", "html"], "default": "text"},
        alternatives={"type": "integer", "minimum": 0, "default": 0},
        api_key=KEY,
    )


TRANSLATE = described(
    {JSON: _translate(_one_or_list(_Q)), FORM: _translate(_Q), MULTIPART: _translate(_Q)},
    _object(
        ["translatedText"],
        translatedText=_one_or_list({"type": "string"}),
        detectedLanguage=_one_or_list(_DETECTED),
        alternatives={"anyOf": [_ALTERNATIVES, {"type": "array", "items": _ALTERNATIVES}]},
    ),
    *USUAL,
)
_DETECT = _object(["q"], q=_text("A text", "Guten Morgen!"), api_key=KEY)
DETECT = described(
    {JSON: _DETECT, FORM: _DETECT, MULTIPART: _DETECT}, {"type": "array", "items": _DETECTED, "maxItems": 3}, *USUAL
)
_SUGGEST = _object(
    ["q", "s", "source", "target"], q=_text("The text"), s=_text("A better translation"), **_LANGUAGES, api_key=KEY
)
SUGGEST = described(
    {JSON: _SUGGEST, FORM: _SUGGEST, MULTIPART: _SUGGEST}, _object(["success"], success={"type": "boolean"}), *USUAL
)
TRANSLATE_FILE = described(
    {
        MULTIPART: _object(
            ["file", "source", "target"], file={"type": "string", "format": "binary"}, **_LANGUAGES, api_key=KEY
        )
    },
    _object(["translatedFileUrl"], translatedFileUrl=_text("Where the translated file is for half an hour")),
    *USUAL,
)
DOWNLOAD: dict[str, Any] = {
    "response_class": Response,
    "responses": {200: _binary("The file"), **refusals(400, 403, 404)},
    "openapi_extra": {
        "parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}],
    },
}
