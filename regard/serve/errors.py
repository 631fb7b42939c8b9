"""Errors of the API: each is `{"error": "..."}` with a fitting status, or has the form of another program's API."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import Scope

from regard.serve.engine.faults import (
    Busy,
    Failed,
    NotReady,
    OutOfMemory,
    ServingError,
    TooCostly,
    TooLate,
    TooLong,
    Unreadable,
)

LATE = 5  # seconds to wait after a timeout
ENDING = 5  # seconds to wait after a shutdown, for another server
ALWAYS = {OutOfMemory: 413, TooCostly: 413, Unreadable: 400}  # of a text that would fail again
GONE = 499  # of a client that left, in metrics alone

_LOG = logging.getLogger("regard.serve")


class ApiError(Exception):
    """An error of the API. `unauthorized`: a key is missing or wrong."""

    unauthorized = False

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.message, self.headers = status, message, dict(headers or {})
        super().__init__(message)


ErrorForm = Callable[[ApiError], tuple[int, dict[str, Any]]]  # → status and JSON


def bad(message: str) -> ApiError:
    """Return the error of an invalid request."""
    return ApiError(400, message)


def later(status: int, message: str, seconds: int) -> ApiError:
    """Return the error of a request that may be sent again after a number of seconds."""
    return ApiError(status, message, {"Retry-After": str(max(seconds, 1))})


def too_long(size: int, limit: int) -> ApiError:
    """Return LibreTranslate's error of a limit, for texts, characters or tokens."""
    return bad(f"Invalid request: request ({size}) exceeds text limit ({limit})")


def of_engine(error: ServingError) -> ApiError:
    """Return the API error for an engine's error."""
    match error:
        case Busy():
            return later(429, f"Slowdown: {error}", error.retry_after)
        case NotReady():
            return later(503, str(error), error.retry_after)
        case TooLate():
            return later(503, str(error), LATE)
        case TooLong():
            return too_long(error.pieces, error.limit)
        case Failed():
            _LOG.error("%s", error)
    return ApiError(ALWAYS.get(type(error), 500), str(error))


def ending() -> ApiError:
    """Return the error at shutdown: for new requests, and for those that exceed the grace time."""
    fault = later(503, f"the server is ending, retry in {ENDING} seconds", ENDING)
    fault.headers["Connection"] = "close"
    return fault


def refusal(error: ApiError, scope: Scope) -> JSONResponse:
    """Return the error as a response, in the form that the request's `error_form` has, if any."""
    form: ErrorForm = scope.get("state", {}).get("error_form") or plain_error
    status, content = form(error)
    return JSONResponse(content, status, error.headers)


def plain_error(error: ApiError) -> tuple[int, dict[str, Any]]:
    """Return an error in LibreTranslate's form, which is Regard's, too."""
    return error.status, {"error": error.message}


def install(app: FastAPI) -> None:
    """Add the handlers that give every error the same form."""
    for kind, reason in _REASONS.items():
        app.add_exception_handler(kind, partial(_refused, reason))


def answer_to(error: Exception, scope: Scope) -> JSONResponse:
    """Return the response to an error of an endpoint. Raises the error where it is a bug."""
    reason = next((_REASONS[kind] for kind in type(error).__mro__ if kind in _REASONS and kind is not Exception), None)
    if reason is None:
        raise error
    return refusal(reason(error), scope)


async def _refused(reason: Callable[[Any], ApiError], request: Request, error: Exception) -> JSONResponse:
    return refusal(reason(error), request.scope)


def _unwritten(error: OSError) -> ApiError:
    """Handle a full disk or a missing folder: not an error of the request, and perhaps temporary."""
    _LOG.error("a file cannot be read or written", exc_info=error)
    return later(503, "the server cannot write its files now", LATE)


_REASONS: Mapping[type[Exception], Callable[[Any], ApiError]] = {
    ApiError: lambda error: error,
    ServingError: of_engine,
    OSError: _unwritten,
    Exception: lambda _: ApiError(500, "Internal server error"),  # a bug; it is raised again, and logged
    HTTPException: lambda error: ApiError(error.status_code, str(error.detail), error.headers),
}
