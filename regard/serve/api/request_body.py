"""Strict parsers of a request: JSON, form, multipart or query."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.datastructures import UploadFile

from regard.serve.errors import bad
from regard.serve.in_thread import in_thread

MAX_FIELDS = 100
INVALID = "Invalid JSON format"
QUICK = 32  # speed of parsing, in multiples of the speed of translation
_T = TypeVar("_T")
_Parsed = TypeVar("_Parsed", dict[str, Any], list[Any])
JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"


@dataclass(frozen=True)
class File:
    """A file of a form."""

    name: str
    data: bytes


async def read_fields(request: Request, lists: Collection[str] = ()) -> Mapping[str, Any]:
    """Return the fields by name. JSON ignores the query; else the query precedes the form.

    `lists`: fields that may be given several times outside JSON; each is a list of its values.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == JSON or (kind.startswith("application/") and kind.endswith("+json")):
        return await read_values(request)
    query = _pairs(request.scope["query_string"], lists)
    if kind == MULTIPART:
        return await _multipart(request, query, lists)
    body = await request.body() if kind == FORM else b""
    form = await in_thread(len(body) // QUICK, _pairs, body, lists)
    return _whole({**form, **query})


async def _multipart(request: Request, query: dict[str, Any], lists: Collection[str]) -> Mapping[str, Any]:
    """Return texts and files, and all values of those in `lists`; the body is in memory and within its limit."""
    values: dict[str, Any] = {}
    try:
        async with request.form(max_files=1, max_fields=MAX_FIELDS, max_part_size=1 << 30) as form:
            for name, value in reversed(form.multi_items()):  # the first value is kept
                one = File(value.filename or "", await value.read()) if isinstance(value, UploadFile) else value
                values[name] = [one, *values.get(name, ())] if name in lists else one
    except ValueError as error:  # some encodings fail in ways of their own
        raise bad("Invalid request: the form is not in its declared encoding") from error
    return _whole({**values, **query})


async def read_values(request: Request) -> dict[str, Any]:
    """Return a JSON object; a large one is parsed in a thread. Raises ApiError as `read_json` does."""
    body = await request.body()
    return await in_thread(len(body) // QUICK, read_json, body)


async def read_json_list(request: Request) -> dict[str, Any]:
    """Return a JSON list as `units`. Raises ApiError as `read_json` does."""
    body = await request.body()
    return await in_thread(len(body) // QUICK, lambda: {"units": _parsed(body, list)})


def read_json(body: bytes) -> dict[str, Any]:
    """Return a JSON object. Raises ApiError for anything ambiguous or dangerous."""
    return _parsed(body, dict)


def _parsed(body: bytes, kind: type[_Parsed]) -> _Parsed:
    """Return a JSON value of a kind. Raises ApiError for anything ambiguous or dangerous.

    That is: any other value, NaN, numbers of thousands of digits, duplicate names, deep nesting, and lone
    surrogates.
    """
    try:
        value = json.loads(
            body.decode("utf-8-sig"), parse_constant=_finite, parse_float=_finite, object_pairs_hook=_once
        )
        if not isinstance(value, kind):
            raise ValueError
        return _whole(value)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise bad(INVALID) from error


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(digits)
    return value


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate name")
    return found


def _pairs(encoded: bytes, lists: Collection[str]) -> dict[str, Any]:
    """Return the first value of each name, as LibreTranslate does, and all values of those in `lists`."""
    try:
        pairs = parse_qsl(encoded.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise bad("Invalid request: the fields are not UTF-8, or too many") from error
    listed = {name: [value for other, value in pairs if other == name] for name, _ in pairs if name in lists}
    return {**dict(reversed(pairs)), **listed}


def _whole(values: _T) -> _T:
    """Raise ApiError for a text with a lone surrogate, which no encoding can write."""
    try:
        json.dumps(values, ensure_ascii=False, default=lambda file: None).encode("utf-8")
    except UnicodeEncodeError as error:
        raise bad("Invalid request: the text is not valid Unicode (lone surrogate)") from error
    return values
