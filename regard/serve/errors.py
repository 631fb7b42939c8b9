"""Refusals: every error is `{"error": "..."}` with a status that fits."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from regard.serve.engine import (
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

LATE = 5  # seconds after which a request that was too late may be sent again
ENDING = 5  # seconds after which to ask again, by then another server
ALWAYS = {
    OutOfMemory: 413,
    TooCostly: 413,
    Unreadable: 400,
}  # of a text that would not be answered another time, either
GONE = 499  # of a client that did not wait, in metrics alone

_LOG = logging.getLogger("regard.serve")


class ApiError(Exception):
    """A request that is refused."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.message, self.headers = status, message, dict(headers or {})
        super().__init__(message)


def bad(message: str) -> ApiError:
    """A request that is wrong."""
    return ApiError(400, message)


def later(status: int, message: str, seconds: int) -> ApiError:
    """A request that may be sent again after so many seconds."""
    return ApiError(status, message, {"Retry-After": str(max(seconds, 1))})


def too_long(size: int, limit: int) -> ApiError:
    """In LibreTranslate's words, whether of texts, characters or pieces."""
    return bad(f"Invalid request: request ({size}) exceeds text limit ({limit})")


def of_engine(error: ServingError) -> ApiError:
    """What a client is told of an engine's refusal."""
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
    """What is told when the server is told to end: to those who come then, and to those for whom it cannot wait."""
    fault = later(503, f"the server is ending, retry in {ENDING} seconds", ENDING)
    fault.headers["Connection"] = "close"
    return fault


def refusal(error: ApiError) -> JSONResponse:
    """The refusal as a response."""
    return JSONResponse({"error": error.message}, error.status, error.headers)


def install(app: FastAPI) -> None:
    """Every refusal, whoever raises it, in the same form."""
    reasons: dict[type[Exception], Callable[[Any], ApiError]] = {
        ApiError: lambda error: error,
        ServingError: of_engine,
        OSError: _unwritten,
        Exception: lambda _: ApiError(500, "Internal server error"),  # a fault of ours; it is raised again, and logged
        HTTPException: lambda error: ApiError(error.status_code, str(error.detail), error.headers),
    }
    for kind, reason in reasons.items():
        app.add_exception_handler(kind, partial(_refused, reason))


async def _refused(reason: Callable[[Any], ApiError], _: Request, error: Exception) -> JSONResponse:
    return refusal(reason(error))


def _unwritten(error: OSError) -> ApiError:
    """A disk that is full, a folder that is gone: no fault of the request, and none that lasts for ever."""
    _LOG.error("a file cannot be read or written", exc_info=error)
    return later(503, "the server cannot write its files now", LATE)
