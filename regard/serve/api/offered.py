"""What there is: GET /languages, /frontend/settings and the three kinds of health."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from regard.documents.files import SUFFIXES
from regard.serve.api.documented import refusals
from regard.serve.catalogue import Catalogue
from regard.serve.engine import NotReady
from regard.serve.errors import later
from regard.serve.languages import AUTO, name_of, outward, reader_of
from regard.serve.service import RESTARTING, Service

TYPING = 500  # milliseconds a page waits for the next letter


def router(service: Service) -> APIRouter:
    """The endpoints that need no key."""
    routes = APIRouter()

    @routes.get("/languages", tags=["LibreTranslate"], responses=refusals(503))
    async def languages(request: Request) -> list[dict[str, Any]]:
        """The languages that are read, and into which each is translated; named in the language of the reader."""
        reader = reader_of(request.headers.get("accept-language", ""))
        return _languages(service.catalogue, reader)

    @routes.get("/frontend/settings", tags=["LibreTranslate"], responses=refusals(503))
    async def frontend_settings(request: Request) -> dict[str, Any]:
        """What a page has to know of the server."""
        reader = reader_of(request.headers.get("accept-language", ""))
        return _frontend(service, reader)

    @routes.get("/health", tags=["LibreTranslate"])
    @routes.get("/healthz", tags=["operation"])
    async def health() -> dict[str, str]:
        """Whether the process is alive."""
        return {"status": "ok"}

    @routes.get("/readyz", tags=["operation"], responses=refusals(503))
    async def readiness() -> JSONResponse:
        """Whether every model can be asked."""
        if service.ready:
            return JSONResponse({"status": "ok"})
        raise later(503, "the server is ending" if service.draining else str(NotReady(RESTARTING)), RESTARTING)

    return routes


def _languages(catalogue: Catalogue, reader: str) -> list[dict[str, Any]]:
    """Languages that are only written stand there too, since clients look up the names of targets here."""
    return [
        {"code": outward(code), "name": name_of(code, reader), "targets": [*map(outward, catalogue.targets(code))]}
        for code in catalogue.languages
    ]


def _frontend(service: Service, reader: str) -> dict[str, Any]:
    settings, (_, target) = service.settings, service.catalogue.first or (AUTO, "")
    return {
        "charLimit": settings.char_limit,
        "frontendTimeout": TYPING,
        "apiKeys": bool(settings.keys),
        "keyRequired": bool(settings.keys),
        "suggestions": settings.suggestions is not None,
        "filesTranslation": settings.files_translation,
        "supportedFilesFormat": list(SUFFIXES) if settings.files_translation else [],
        "language": {
            "source": {"code": AUTO, "name": "Auto Detect"},
            "target": {"code": outward(target), "name": name_of(target, reader)},
        },
        "batchLimit": settings.batch_limit,
        "alternativesLimit": settings.alternatives_limit,
        "fileSizeLimit": settings.max_file,
    }
