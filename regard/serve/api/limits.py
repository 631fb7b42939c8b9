"""GET /v1/limits: how much a request may ask for."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from regard.documents.files.base import SENTENCES
from regard.serve.api.models import MAX_N_BEST
from regard.serve.engine import questions
from regard.serve.service import Service


def _told(text: str) -> object:
    return Field(description=text)


class LimitsAnswer(BaseModel):
    """Limits of one request; -1: none."""

    texts: Annotated[int, _told("texts of a request")]
    characters: Annotated[int, _told("characters of a text")]
    body_bytes: Annotated[int, _told("bytes of a request, files apart")]
    file_bytes: Annotated[int, _told("bytes of a file")]
    file_sentences: Annotated[int, _told("sentences of a file")]
    answer_bytes: Annotated[int, _told("bytes of an answer under /v1")]
    alternatives: Annotated[int, _told("`alternatives` of /translate")]
    n_best: Annotated[int, _told("`n_best` of /v1")]
    cost: Annotated[
        int,
        _told(
            "pieces of all texts, each with its prefix and its terms, "
            "times what n_best, terms or methods of explanation cost"
        ),
    ]
    glossary_terms: Annotated[int, _told("terms of a glossary")]
    term_alternatives: Annotated[int, _told("translations of a term")]
    prefix_pieces: Annotated[int, _told("pieces of a target_prefix")]
    explained_pieces: Annotated[int, _told("pieces of source_text and target_text together")]
    methods: Annotated[int, _told("`reasons` of an explanation")]
    waiting_texts: Annotated[int, _told("texts that wait for a model, of all clients together")]
    request_seconds: Annotated[float, _told("seconds that a request may wait, or an explanation may take")]


def router(service: Service) -> APIRouter:
    """The endpoint."""
    routes = APIRouter(prefix="/v1", tags=["Regard"])

    @routes.get("/limits")
    async def limits() -> LimitsAnswer:
        """How much a request may ask for; what asks for more is refused with 413 or 400, and a line that says why."""
        settings = service.settings
        return LimitsAnswer(
            texts=settings.batch_limit,
            characters=settings.char_limit,
            body_bytes=settings.max_body,
            file_bytes=settings.max_file,
            file_sentences=SENTENCES,
            answer_bytes=settings.max_maps,
            alternatives=settings.alternatives_limit,
            n_best=MAX_N_BEST,
            cost=settings.max_cost,
            glossary_terms=settings.max_terms,
            term_alternatives=settings.max_term_alternatives,
            prefix_pieces=questions.MAX_PREFIX,
            explained_pieces=questions.MAX_EXPLAINED,
            methods=questions.MAX_METHODS,
            waiting_texts=settings.max_queue,
            request_seconds=settings.request_timeout,
        )

    return routes
