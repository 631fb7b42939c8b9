"""The API of a translation memory server, as tmserver of the Translate Toolkit and amaGama have it, below /tmserver.

It answers from the memories of the server alone: clients show its matches as translations of people.
"""

from typing import Any
from urllib.parse import unquote_plus

from fastapi import Request
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from starlette.datastructures import Headers

from regard.memory import TranslationUnit
from regard.serve.api.access import admitted
from regard.serve.api.checking import check_sizes
from regard.serve.api.endpoint import Endpoint, queried
from regard.serve.api.request_body import JSON, read_json_list, read_values
from regard.serve.errors import LATE, ApiError, bad, later
from regard.serve.languages import outward, served_code
from regard.serve.memories import READ_ONLY, ServedMemory
from regard.serve.security import SUGGEST
from regard.serve.service import Service

MOST_UNITS = 5000  # of a request
ORIGIN = "tmserver"  # of segments that clients send
PREFIX = "/tmserver"
_UNIT = "/unit/"


class MatchAnswer(BaseModel):
    """A segment of the memory."""

    source: str
    target: str
    quality: int = Field(description="similarity in per cent")
    context: str = ""


class UnitQuestion(BaseModel):
    """A translated segment."""

    source: str
    target: str


_UNITS = TypeAdapter(list[UnitQuestion])


class LanguagesAnswer(BaseModel):
    """Languages of the memories, in lower case and with underscores."""

    sourceLanguages: list[str]  # noqa: N815  as amaGama spells it
    targetLanguages: list[str]  # noqa: N815  as its API spells it


async def memory_languages(service: Service, _: Request) -> LanguagesAnswer:
    """Return the languages of the memories; none without a memory."""
    sources, targets = (sorted({_code(pair[side]) for pair in service.memories.pairs}) for side in (0, 1))
    return LanguagesAnswer(sourceLanguages=sources, targetLanguages=targets)


async def memory_matches(service: Service, request: Request) -> list[MatchAnswer]:
    """Return the segments most like a text, best first; none without a memory of these languages."""
    await admitted(service, request)
    text = _asked_text(request)
    check_sizes([text], service.settings)
    request.state.asked.count([text])
    memory = _memory(service, request)
    if memory is None:
        return []
    [found] = await memory.search([text])
    return [MatchAnswer(source=one.source, target=one.target, quality=min(one.percent, 100)) for one in found]


async def store_unit(service: Service, request: Request) -> dict[str, int]:
    """Store a translated segment."""
    values = await admitted(service, request, read_values, right=SUGGEST)
    return await _store(service, request, [values])


async def store_units(service: Service, request: Request) -> dict[str, int]:
    """Store the translated segments of a file, which the client has read."""
    values = await admitted(service, request, read_json_list, right=SUGGEST)
    return await _store(service, request, values["units"])


def tmserver_path(_: str, path: str, __: Headers) -> str | None:
    """Return the path of a request to the memory server; None for a request of another API."""
    return path if path.startswith(f"{PREFIX}/") else None


async def _store(service: Service, request: Request, values: Any) -> dict[str, int]:
    try:
        units = _UNITS.validate_python(values)
    except ValidationError as error:
        raise bad("Invalid request: source and target of each segment are expected") from error
    if len(units) > MOST_UNITS:
        raise ApiError(413, f"{len(units):,} segments are more than the limit of {MOST_UNITS:,}: send them in parts")
    memory = _memory(service, request)
    if memory is None:
        raise ApiError(404, "there is no memory of these languages (--memory FILE)")
    if not service.memories.writable:
        raise ApiError(403, READ_ONLY)
    wanted = [one for one in units if one.source.strip() and one.target.strip()]
    for one in wanted:
        check_sizes([one.source, one.target], service.settings)
    request.state.asked.count([one.source for one in wanted])
    author = request.state.asked.key
    added = [TranslationUnit(one.source, one.target, "", ORIGIN, author) for one in wanted]
    if added and not await memory.add(added):
        raise later(503, "the memory cannot be written now", LATE)
    return {"added": len(added)}


def _memory(service: Service, request: Request) -> ServedMemory | None:
    """Return the memory of the languages in the path, and record them."""
    known = list({code for pair in service.memories.pairs for code in pair})
    source, target = (served_code(request.path_params[name], known) for name in ("source", "target"))
    memory = service.memories.of(source, target)
    if memory is not None:
        request.state.asked.pair = f"{source}-{target}"
    return memory


def _asked_text(request: Request) -> str:
    """Return the text of the path; some clients write its spaces as plus signs, and all write plus signs as %2B."""
    raw: bytes = request.scope["raw_path"]
    return unquote_plus(raw.decode("ascii", "replace").partition(_UNIT)[2], errors="replace")


def _stored(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the options of a route that stores segments; `name` is the last of its path."""
    options = queried({}, path=("source", "target", name))
    options["openapi_extra"]["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    return options


def _code(code: str) -> str:
    return outward(code).replace("-", "_").lower()


_ANY = f"{PREFIX}/{{source}}/{{target}}"
_TEXT, _FILE = f"{_ANY}{_UNIT}{{text:path}}", f"{_ANY}/store/{{name:path}}"
_STORE = _stored(UnitQuestion.model_json_schema(), "text")
_STORE_ALL = _stored({"type": "array", "items": UnitQuestion.model_json_schema()}, "name")
TMSERVER_ENDPOINTS = (
    (f"{PREFIX}/languages/", Endpoint(memory_languages, "tmserver", LanguagesAnswer, queried({}))),
    (_TEXT, Endpoint(memory_matches, "tmserver", list[MatchAnswer], queried({}, path=("source", "target", "text")))),
    (_TEXT, Endpoint(store_unit, "tmserver", dict[str, int], _STORE, method="PUT")),
    (_TEXT, Endpoint(store_unit, "tmserver", dict[str, int], _STORE, method="POST")),
    (_FILE, Endpoint(store_units, "tmserver", dict[str, int], _STORE_ALL, method="POST")),
)
