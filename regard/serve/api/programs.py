"""APIs of other programs beside LibreTranslate's, and which of them a request is for."""

from collections.abc import Iterator
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.types import Scope

from regard.serve.api.apertium import APERTIUM_ENDPOINTS, apertium_error, apertium_path
from regard.serve.api.deepl import DEEPL_ENDPOINTS, deepl_error, deepl_path
from regard.serve.api.deepl_documents import DOCUMENT_ENDPOINTS
from regard.serve.api.deepl_glossaries import GLOSSARY_ENDPOINTS
from regard.serve.api.endpoint import Endpoint, ProgramApi
from regard.serve.api.tmserver import TMSERVER_ENDPOINTS, tmserver_path
from regard.serve.errors import ErrorForm, plain_error
from regard.serve.settings import Settings

_DEEPL = (*DEEPL_ENDPOINTS, *DOCUMENT_ENDPOINTS, *GLOSSARY_ENDPOINTS)
PROGRAMS: dict[str, ProgramApi] = {
    "deepl": ProgramApi(_DEEPL, deepl_path, deepl_error),
    "apertium": ProgramApi(APERTIUM_ENDPOINTS, apertium_path, apertium_error),
    "tmserver": ProgramApi(TMSERVER_ENDPOINTS, tmserver_path, plain_error),
}


class Addressed(NamedTuple):
    """The endpoint that a request is for, and the form of its errors."""

    path: str
    error_form: ErrorForm


def program_endpoints(settings: Settings) -> Iterator[tuple[str, Endpoint]]:
    """Yield the endpoints of the selected programs, with their paths."""
    for name in settings.programs:
        yield from PROGRAMS[name].endpoints


def program_of(scope: Scope, settings: Settings) -> Addressed | None:
    """Return the selected program that a request is for; None for LibreTranslate's API, and Regard's own."""
    prefix, headers = settings.url_prefix, Headers(scope=scope)
    if not scope["path"].startswith(f"{prefix}/"):
        return None
    for name in settings.programs:
        program = PROGRAMS[name]
        path = program.own(scope["method"], scope["path"].removeprefix(prefix), headers)
        if path is not None:
            return Addressed(f"{prefix}{path}", program.error_form)
    return None
