"""Access control: API keys, rate limits, and the limits of a request."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import Request

from regard.serve.api.request_body import read_fields
from regard.serve.errors import ApiError, bad, later
from regard.serve.security import DEFAULT_RIGHTS, TRANSLATE
from regard.serve.service import Service

DEEPL_SCHEME = "deepl-auth-key"
SCHEMES = ("bearer", DEEPL_SCHEME)  # of the Authorization header
KEY_FIELDS = ("api_key", "auth_key", "key")  # of LibreTranslate, DeepL and Apertium


async def admitted(
    service: Service,
    request: Request,
    read: Callable[[Request], Awaitable[Mapping[str, Any]]] = read_fields,
    *,
    right: str = TRANSLATE,
) -> Mapping[str, Any]:
    """Return the fields of a request that may enter. Raises ApiError, if possible before the body is read.

    `right`: one of RIGHTS, which the key must have. A server without keys gives anyone DEFAULT_RIGHTS.
    """
    check_key(service, request)
    values = await read(request)
    admit(service, request, values, right)
    return values


def check_key(service: Service, request: Request) -> None:
    """Raise ApiError for a banned client or a wrong key, from the headers of the request alone."""
    key, keys = _key_of_header(request), service.settings.keys
    holder = keys.holder(key) if keys and key else None
    if keys and key and holder is None:
        admit(service, request, {})  # refuses and counts it: guessing of keys is rate-limited
    if service.rates.banned(holder.name if holder else _address(request)):
        raise _banned()


def admit(service: Service, request: Request, values: Mapping[str, Any], right: str = TRANSLATE) -> None:
    """Raise ApiError for a client that is banned, is over its rate limit, or lacks a required key or right."""
    given = [values.get(field) for field in KEY_FIELDS]
    key = next((one for one in given if one and isinstance(one, str)), _key_of_header(request))
    keys, rates = service.settings.keys, service.rates
    holder = keys.holder(key) if keys and key else None
    client = holder.name if holder else _address(request)
    request.state.asked.key = holder.name if holder else ""
    request.state.client = client
    request.state.owner = service.stored_glossaries.owner(key, holder)
    if rates.banned(client):
        raise _banned()
    wait = rates.wait(client)
    if wait:
        raise later(429, f"Slowdown: {rates.limit} per 1 minute", round(wait + 0.5))
    if not keys or holder is not None:
        _check_right(holder.rights if holder else DEFAULT_RIGHTS, right)
        return
    link = service.settings.key_link
    hint = f"Visit {link} to get an API key" if link else "Please contact the server operator to get an API key"
    refused = ApiError(403, "Invalid API key") if key else bad(hint)
    refused.unauthorized = True
    raise refused


def _check_right(rights: frozenset[str], right: str) -> None:
    if right not in rights:
        raise ApiError(403, f"This needs an API key with the right {right}")


def _key_of_header(request: Request) -> str:
    scheme, _, key = request.headers.get("authorization", "").strip().partition(" ")
    return key.strip() if scheme.lower() in SCHEMES else ""


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _banned() -> ApiError:
    return ApiError(403, "Too many request limits violations")
