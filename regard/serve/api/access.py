"""Who may ask: keys, limits of their use, and what a request may ask for."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import Request

from regard.serve.api.request_body import read_fields
from regard.serve.errors import ApiError, bad, later
from regard.serve.service import Service

BEARER = "bearer "


async def admitted(
    service: Service, request: Request, read: Callable[[Request], Awaitable[Mapping[str, Any]]] = read_fields
) -> Mapping[str, Any]:
    """What a client asks that may. Raises ApiError for one that may not, if it can be before the question is read."""
    check_key(service, request)
    values = await read(request)
    admit(service, request, values)
    return values


def check_key(service: Service, request: Request) -> None:
    """Raises ApiError for a client that is banned, or has a wrong key, by what stands in the head of its request."""
    key, keys = _bearer(request), service.settings.keys
    holder = keys.holder(key) if keys and key else None
    if keys and key and holder is None:
        admit(service, request, {})  # refuses it, and counts it: keys must not be guessed as fast as one likes
    if service.rates.banned(holder or _address(request)):
        raise _banned()


def admit(service: Service, request: Request, values: Mapping[str, Any]) -> None:
    """Raises ApiError for a client that is banned, asks too often, or lacks a key where one is needed."""
    key = values.get("api_key")
    key = key if key and isinstance(key, str) else _bearer(request)
    keys, rates = service.settings.keys, service.rates
    holder = keys.holder(key) if keys and key else None
    client = holder or _address(request)
    request.state.asked.key = holder or ""
    if rates.banned(client):
        raise _banned()
    wait = rates.wait(client)
    if wait:
        raise later(429, f"Slowdown: {rates.limit} per 1 minute", round(wait + 0.5))
    if not keys or holder is not None:
        return
    if key:
        raise ApiError(403, "Invalid API key")
    link = service.settings.key_link
    raise bad(f"Visit {link} to get an API key" if link else "Please contact the server operator to get an API key")


def _bearer(request: Request) -> str:
    """The key in the header that HTTP has for it."""
    header = request.headers.get("authorization", "")
    return header[len(BEARER) :].strip() if header.lower().startswith(BEARER) else ""


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _banned() -> ApiError:
    return ApiError(403, "Too many request limits violations")
