"""A row of the table of endpoints: its handler, and the body and errors that OpenAPI documents."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.datastructures import Headers

from regard.serve.api.request_body import FORM, JSON, MULTIPART
from regard.serve.errors import ErrorForm
from regard.serve.service import Service


class Endpoint(NamedTuple):
    """The handler of a path. With `needs_model` it refuses before it reads the body while every queue is full."""

    answers: Callable[[Service, Request], Awaitable[Any]]
    tag: str
    model: Any = None  # of the answer; None: the handler returns a response
    options: Mapping[str, Any] = {}  # of the route
    needs_model: bool = False
    method: str = "GET"

    def add(self, app: FastAPI, path: str, service: Service) -> None:
        """Add its route."""

        async def endpoint(request: Request) -> Any:
            return await self.answers(service, request)

        endpoint.__name__, endpoint.__doc__ = self.answers.__name__, self.answers.__doc__  # OpenAPI prints them
        app.add_api_route(
            path, endpoint, response_model=self.model, methods=[self.method], tags=[self.tag], **self.options
        )


class ProgramApi(NamedTuple):
    """The API of another program.

    `own` returns the path of the endpoint that answers a request, given method, path and headers; None if the request
    is for another API.
    """

    endpoints: Sequence[tuple[str, Endpoint]]  # with their paths; of a path with several methods, one a method
    own: Callable[[str, str, Headers], str | None]
    error_form: ErrorForm


def asking(
    answers: Callable[[Service, Request], Awaitable[Any]],
    question: type[BaseModel],
    model: Any,
    *kinds: str,
    tag: str,
    needs_model: bool = True,
    refused: Mapping[int | str, Any] | None = None,
    path: Sequence[str] = (),
    method: str = "POST",
    **options: Any,
) -> Endpoint:
    """Return the endpoint of a request that a pydantic model checks: the kinds of body, any if none are named.

    `refused`: its errors, if they are not the usual ones. `path`: names in its path.
    """
    content = {kind: {"schema": _schema(question, kind)} for kind in kinds or (JSON, FORM, MULTIPART)}
    body = {"requestBody": {"required": True, "content": content}, "parameters": [*map(_in_path, path)]}
    route = {"responses": refused or refusals(), "openapi_extra": body, **options}
    return Endpoint(answers, tag, model, route, needs_model, method)


def _schema(model: type[BaseModel], kind: str) -> dict[str, Any]:
    """Return the schema of a model; in a form, a field that may be a list is a text."""
    schema = model.model_json_schema()
    schema = _inlined(schema, schema.pop("$defs", {}))
    if kind != JSON:
        schema["properties"] = {n: {**each.pop("anyOf", [{}])[0], **each} for n, each in schema["properties"].items()}
    return schema


def queried(
    fields: Mapping[str, str], *required: str, path: Sequence[str] = (), error: Sequence[str] = ("error",)
) -> dict[str, Any]:
    """Return the options of a route whose fields are in its query, each with a description, or in its `path`.

    `error`: texts of its errors.
    """
    text, asked = {"type": "string"}, [*map(_in_path, path)]
    for name, about in fields.items():
        asked.append({"name": name, "in": "query", "required": name in required, "description": about, "schema": text})
    responses = refusals(400, 403, 404, 413, 415, 429, 503, error=error)
    return {"responses": responses, "openapi_extra": {"parameters": asked}}


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _inlined(schema: Any, parts: Mapping[str, Any]) -> Any:
    """Return a schema with its parts in place of references, which would be looked for in the whole description."""
    if isinstance(schema, list):
        return [_inlined(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(parts[schema["$ref"].rpartition("/")[2]], parts)
    return {name: _inlined(one, parts) for name, one in schema.items()}


def refusals(*statuses: int, error: Sequence[str] = ("error",)) -> dict[int | str, dict[str, Any]]:
    """Return the errors of an endpoint, with the names of their texts; the usual ones if none are named."""
    texts = {name: {"type": "string", "description": "Error message"} for name in error}
    schema = {"type": "object", "required": [*error], "properties": texts}
    return {status: _response(WHY[status], JSON, schema) for status in statuses or USUAL}


def _response(description: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {kind: {"schema": schema}}}


WHY = {
    400: "The request is invalid; the message says why",
    401: "The token is missing or wrong",
    403: "The API key is wrong, or the server does not offer this",
    404: "Not found",
    413: "The request or its answer is too large",
    415: "The request is compressed",
    456: "The server has no room for another glossary",
    429: "Too many requests; retry after `Retry-After` seconds",
    503: "Loading, shutting down or timed out; retry after `Retry-After` seconds",
}
USUAL = (400, 403, 413, 415, 429, 503)
BINARY = {"type": "string", "format": "binary"}
DOWNLOAD: dict[str, Any] = {
    "response_class": Response,
    "responses": {200: _response("The file", "application/octet-stream", BINARY), **refusals(400, 403, 404)},
    "openapi_extra": {"parameters": [_in_path("name")]},
}
