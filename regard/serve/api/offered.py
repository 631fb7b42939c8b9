"""Public information, without a key: languages, settings of the page, limits, health and metrics."""

from typing import Annotated, Any

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field

from regard.documents.files import SUFFIXES
from regard.documents.files.base import MOST_SENTENCES
from regard.memory.reuse import MAX_SEARCHED
from regard.serve.api.models import MAX_N_BEST
from regard.serve.engine import questions
from regard.serve.engine.faults import NotReady
from regard.serve.errors import ApiError, later
from regard.serve.languages import AUTO, name_of, outward, reading_language
from regard.serve.memories import MOST_SEARCHED
from regard.serve.security import same_secret
from regard.serve.service import RESTARTING, Service

TYPING = 500  # milliseconds a page waits for the next letter


def _described(text: str) -> object:
    return Field(description=text)


class LimitsAnswer(BaseModel):
    """Limits of one request; -1: no limit."""

    texts: Annotated[int, _described("texts of a request")]
    characters: Annotated[int, _described("characters of a text")]
    body_bytes: Annotated[int, _described("bytes of a request, files apart")]
    file_bytes: Annotated[int, _described("bytes of a file")]
    file_sentences: Annotated[int, _described("sentences of a file")]
    answer_bytes: Annotated[int, _described("bytes of an answer under /v1")]
    alternatives: Annotated[int, _described("`alternatives` of /translate")]
    n_best: Annotated[int, _described("`n_best` of /v1")]
    cost: Annotated[
        int,
        _described(
            "pieces of all texts, each with its prefix and its terms, "
            "times what n_best, terms or methods of explanation cost"
        ),
    ]
    glossary_terms: Annotated[int, _described("terms of a glossary")]
    term_alternatives: Annotated[int, _described("translations of a term")]
    prefix_pieces: Annotated[int, _described("pieces of a target_prefix")]
    explained_pieces: Annotated[int, _described("pieces of source_text and target_text together")]
    memory_sentences: Annotated[int, _described("sentences of a request that similar segments are searched for")]
    memory_characters: Annotated[int, _described("characters of such a sentence")]
    methods: Annotated[int, _described("`reasons` of an explanation")]
    waiting_texts: Annotated[int, _described("texts that wait for a model, of all clients together")]
    request_seconds: Annotated[float, _described("seconds that a request may wait, or an explanation may take")]


async def languages(service: Service, request: Request) -> list[dict[str, Any]]:
    """Return the source languages with their targets, named in the reader's language."""
    catalogue, reader = service.catalogue, reading_language(request.headers.get("accept-language", ""))
    return [  # with target-only languages, since clients look up their names here
        {"code": outward(code), "name": name_of(code, reader), "targets": [*map(outward, catalogue.targets(code))]}
        for code in catalogue.languages
    ]


async def frontend_settings(service: Service, request: Request) -> dict[str, Any]:
    """Return the settings that the page needs."""
    reader = reading_language(request.headers.get("accept-language", ""))
    settings, (_, target) = service.settings, service.catalogue.first or (AUTO, "")
    memories = [[*map(outward, pair)] for pair in service.memories.pairs if service.memories.writable]
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
        **({"memories": memories} if memories else {}),  # that the page may add to
    }


async def health(_: Service, __: Request) -> dict[str, str]:
    """Return 200 while the process is alive."""
    return {"status": "ok"}


async def readiness(service: Service, _: Request) -> JSONResponse:
    """Return 200 while every model is ready."""
    if service.ready:
        return JSONResponse({"status": "ok"})
    raise later(503, "the server is ending" if service.draining else str(NotReady(RESTARTING)), RESTARTING)


async def limits(service: Service, _: Request) -> LimitsAnswer:
    """Return the limits of a request; one above them is refused with 413 or 400 and the reason."""
    settings = service.settings
    return LimitsAnswer(
        texts=settings.batch_limit,
        characters=settings.char_limit,
        body_bytes=settings.max_body,
        file_bytes=settings.max_file,
        file_sentences=MOST_SENTENCES,
        answer_bytes=settings.max_maps,
        alternatives=settings.alternatives_limit,
        n_best=MAX_N_BEST,
        cost=settings.max_cost,
        glossary_terms=settings.max_terms,
        term_alternatives=settings.max_term_alternatives,
        prefix_pieces=questions.MAX_PREFIX,
        explained_pieces=questions.MAX_EXPLAINED,
        methods=questions.MAX_METHODS,
        memory_sentences=MOST_SEARCHED,
        memory_characters=MAX_SEARCHED,
        waiting_texts=settings.max_queue,
        request_seconds=settings.request_timeout,
    )


async def metrics(service: Service, request: Request) -> Response:
    """Return all metrics, for Prometheus."""
    token = service.settings.metrics_auth_token
    if token and not same_secret(request.headers.get("authorization", ""), f"Bearer {token}"):
        raise ApiError(401, "Unauthorized", {"WWW-Authenticate": "Bearer"})
    return Response(service.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})
