"""DeepL's documents, version 2: a file is uploaded, its status asked for, and its translation fetched once."""

import asyncio
from pathlib import PurePath
from typing import Annotated, Any

from fastapi import Request
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel, Field, InstanceOf, WithJsonSchema
from starlette.background import BackgroundTask

from regard.serve.api.access import admitted
from regard.serve.api.deepl import deepl_pair, ignored
from regard.serve.api.deepl_glossaries import MESSAGE, DeepLFields, terms_of
from regard.serve.api.endpoint import BINARY, USUAL, asking, refusals
from regard.serve.api.files import check_allowed, check_file, file_errors
from regard.serve.api.request_body import FORM, JSON, MULTIPART, File
from regard.serve.documents import UploadedDocument, WrittenDocument
from regard.serve.engine.faults import Busy, NotReady
from regard.serve.errors import bad
from regard.serve.service import Service
from regard.serve.translating import FILE_PATIENCE, open_file, translate_file


class DocumentQuestion(DeepLFields):
    """A file and its languages; options of style are ignored."""

    file: Annotated[InstanceOf[File], WithJsonSchema(BINARY)]
    target_lang: Annotated[str, Field(min_length=1, examples=["DE"])]
    source_lang: str | None = Field(None, description="taken from the file or detected if it is left out")
    filename: str | None = Field(None, description="name of the file, if its part of the form has none")
    output_format: str | None = Field(None, description="only that of the file")
    glossary_id: str | None = None


class DocumentKey(DeepLFields):
    """The key that came with the id of a document."""

    document_key: str


class DocumentHandle(BaseModel):
    """The names of a document in later requests, and warnings of ignored options."""

    document_id: str
    document_key: str
    warnings: list[str] | None = None


class DocumentStatus(BaseModel):
    """State of a document: queued, translating, done or error."""

    document_id: str
    status: str
    billed_characters: int | None = None
    error_message: str | None = None
    warnings: list[str] | None = None


async def upload_document(service: Service, request: Request) -> DocumentHandle:
    """Put a file into the queue of documents; an unreadable one is refused at once."""
    values = await admitted(service, request)
    check_allowed(service)
    service.documents.check_room(request.state.client)
    question = DocumentQuestion.of(values)
    file = File(question.filename or question.file.name, question.file.data)
    check_file(service, file)
    suffix = PurePath(file.name).suffix.lower()
    if (wanted := question.output_format) and f".{wanted.lower().lstrip('.')}" != suffix:
        raise bad(f"Value for 'output_format' not supported: the file is {suffix}")
    pair = source, target = deepl_pair(service, question.source_lang, question.target_lang)
    terms = await terms_of(service, request, question.glossary_id, pair) or await service.glossaries.read("", pair)
    with file_errors():
        opened = await open_file(service, file.data, suffix, source, target, request.state.asked)

    async def work() -> WrittenDocument:
        until = asyncio.get_running_loop().time() + FILE_PATIENCE * service.settings.request_timeout
        while True:
            try:
                with file_errors():
                    found = await translate_file(service, opened, terms)
                return WrittenDocument(found.data, found.warnings)
            except (Busy, NotReady) as error:  # also of a model that was replaced meanwhile
                if asyncio.get_running_loop().time() > until:
                    raise
                await asyncio.sleep(error.retry_after)

    characters = request.state.asked.characters or 0
    owner, client = request.state.owner, request.state.client
    made = service.documents.add(owner, client, PurePath(file.name).name, characters, work)
    return DocumentHandle(document_id=made.id, document_key=made.key, warnings=ignored(values) or None)


async def document_status(service: Service, request: Request) -> DocumentStatus:
    """Return how far a document is."""
    found = await _asked_document(service, request)
    return DocumentStatus(
        document_id=found.id,
        status=found.status,
        billed_characters=found.characters if found.status == "done" else None,
        error_message=found.problem or None,
        warnings=[*found.warnings] or None,
    )


async def document_result(service: Service, request: Request) -> Response:
    """Return the translation, which is deleted once it was sent whole."""
    found = await _asked_document(service, request)
    deletion = BackgroundTask(service.documents.delete, found)
    return FileResponse(service.documents.path(found), media_type="application/octet-stream", background=deletion)


async def _asked_document(service: Service, request: Request) -> UploadedDocument:
    """Return the document of a path. Raises ApiError where this client has none of that id and key."""
    question = DocumentKey.of(await admitted(service, request))
    return service.documents.find(request.state.owner, request.path_params["document_id"], question.document_key)


UPLOAD_PATH = "/v2/document"
_ONE = f"{UPLOAD_PATH}/{{document_id}}"
_USUAL: dict[str, Any] = {"tag": "DeepL", "refused": refusals(*USUAL, 404, error=MESSAGE)}
_KEYED: dict[str, Any] = {**_USUAL, "needs_model": False, "path": ("document_id",)}
_SHORT: dict[str, Any] = {"response_model_exclude_none": True}
DOCUMENT_ENDPOINTS = (
    (UPLOAD_PATH, asking(upload_document, DocumentQuestion, DocumentHandle, MULTIPART, **_USUAL, **_SHORT)),
    (_ONE, asking(document_status, DocumentKey, DocumentStatus, JSON, FORM, **_KEYED, **_SHORT)),
    (f"{_ONE}/result", asking(document_result, DocumentKey, None, JSON, FORM, response_class=Response, **_KEYED)),
)
