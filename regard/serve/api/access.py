"""Who may ask: keys, limits of their use, and what a request may ask for."""

from fastapi import Request

from regard.serve.api.reading import Fields
from regard.serve.errors import ApiError, bad, later
from regard.serve.service import Service

BEARER = "bearer "


def admit(service: Service, request: Request, fields: Fields) -> None:
    """Raises ApiError for a client that is banned, asks too often, or lacks a key where one is needed."""
    key = _key(request, fields)
    keys, rates = service.settings.keys, service.rates
    holder = keys.holder(key) if keys and key else None
    client = holder or (request.client.host if request.client else "")
    if rates.banned(client):
        raise ApiError(403, "Too many request limits violations")
    wait = rates.wait(client)
    if wait:
        raise later(429, f"Slowdown: {rates.limit} per 1 minute", round(wait + 0.5))
    if not keys or holder is not None:
        return
    if key:
        raise ApiError(403, "Invalid API key")
    link = service.settings.key_link
    raise bad(f"Visit {link} to get an API key" if link else "Please contact the server operator to get an API key")


def _key(request: Request, fields: Fields) -> str:
    """The key in the fields, or else in the header that HTTP has for it."""
    header = request.headers.get("authorization", "")
    given = header[len(BEARER) :].strip() if header.lower().startswith(BEARER) else ""
    return fields.text("api_key") or given
