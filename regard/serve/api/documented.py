"""What the OpenAPI document says of bodies that are read by hand, and of refusals."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from fastapi import APIRouter
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

from regard.serve.api.request_body import FORM, JSON, MULTIPART

MARK = "needs_model"  # of endpoints

T = TypeVar("T", bound=Callable[..., Any])


def asked(model: type[BaseModel], *kinds: str) -> dict[str, Any]:
    """Arguments of a route whose body is checked by a model: the kinds of body, any if none are named; the refusals."""
    content = {kind: {"schema": _schema(model, kind)} for kind in kinds or (JSON, FORM, MULTIPART)}
    return {"responses": refusals(), "openapi_extra": {"requestBody": {"required": True, "content": content}}}


def needs_model(endpoint: T) -> T:
    """Mark an endpoint that a model answers: while no model has room for more it is refused before it is read."""
    setattr(endpoint, MARK, True)
    return endpoint


def paths_that_need_models(routers: Iterable[APIRouter], prefix: str) -> frozenset[str]:
    """The paths of endpoints that are marked so."""
    routes = (one for router in routers for one in router.routes if isinstance(one, APIRoute))
    return frozenset(f"{prefix}{one.path}" for one in routes if hasattr(one.endpoint, MARK))


def _schema(model: type[BaseModel], kind: str) -> dict[str, Any]:
    """What a model takes; in a form a text where it may be a list, too."""
    schema = model.model_json_schema()
    if kind != JSON:
        schema["properties"] = {n: {**each.pop("anyOf", [{}])[0], **each} for n, each in schema["properties"].items()}
    return schema


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The ways a question may be refused; the usual ones if none are named."""
    return {status: _response(WHY[status], JSON, ERROR) for status in statuses or USUAL}


def _response(description: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {kind: {"schema": schema}}}


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
USUAL = (400, 403, 413, 415, 429, 503)
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string", "description": "What is wrong"}},
}
BINARY = {"type": "string", "format": "binary"}
DOWNLOAD: dict[str, Any] = {
    "response_class": Response,
    "responses": {200: _response("The file", "application/octet-stream", BINARY), **refusals(400, 403, 404)},
    "openapi_extra": {
        "parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}],
    },
}
