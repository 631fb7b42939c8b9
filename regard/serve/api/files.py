"""POST /translate_file and GET /download_file, as in LibreTranslate."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import FileResponse, Response

from regard.documents.files import SUFFIXES, FileError
from regard.documents.size_budget import TooLarge
from regard.serve.api.access import admitted
from regard.serve.api.checking import check_served
from regard.serve.api.libretranslate import FileQuestion
from regard.serve.api.request_body import File
from regard.serve.downloads import FILE_NAME
from regard.serve.engine.faults import TooLate
from regard.serve.errors import ApiError, bad
from regard.serve.languages import AUTO, outward
from regard.serve.service import Service
from regard.serve.translating import check_pair, open_file, translate_file


async def translate_whole_file(service: Service, request: Request) -> dict[str, Any]:
    """Translate a file; the answer has the address of the translation, and warnings of lost numbers and terms."""
    values = await admitted(service, request)
    check_allowed(service)
    question = FileQuestion.of(values)
    _check(service, question)
    file, target = question.file, question.target
    terms = await service.glossaries.read(question.glossary, (question.source, target))
    path = PurePath(file.name)
    with file_errors():
        opened = await open_file(service, file.data, path.suffix.lower(), question.source, target, request.state.asked)
        found = await translate_file(service, opened, terms, memory=question.memory)
    name = await service.downloads.keep(f"{path.stem}_{outward(target)}{path.suffix}", found.data)
    answer: dict[str, Any] = {"translatedFileUrl": str(request.url_for("download_file", name=quote(name)))}
    answer |= {"terms": found.terms} if terms else {}
    answer |= {"memory": found.memory} if found.memory is not None else {}
    return {**answer, "warnings": found.warnings} if terms or found.warnings else answer


async def download_file(service: Service, request: Request) -> Response:
    """Return a translated file; it is deleted after half an hour."""
    check_allowed(service)
    name = request.path_params["name"]
    if FILE_NAME.fullmatch(name) is None:
        raise bad("Invalid filename")
    path = service.downloads.find(name)
    if path is None:
        raise ApiError(404, "Not Found")
    return FileResponse(path, media_type="application/octet-stream", filename=name.partition(".")[2])


def check_allowed(service: Service) -> None:
    """Raise ApiError where the server translates no files."""
    if not service.settings.files_translation:
        raise ApiError(403, "Files translation are disabled on this server.")


@contextmanager
def file_errors() -> Iterator[None]:
    """Turn the errors of a file into those of the API."""
    try:
        yield
    except FileError as error:
        raise bad(f"Invalid request: {error}") from error
    except TooLarge as error:
        raise ApiError(413, str(error)) from error
    except TooLate as error:  # the whole time limit of a file: a retry would fail, too
        raise ApiError(413, "the file takes longer to translate than a file may: send it in parts") from error


def check_file(service: Service, file: File) -> None:
    """Raise ApiError for an empty file, for one above the limit and for an unknown kind."""
    if not file.name or not file.data:
        raise bad("Invalid request: empty file")
    if len(file.data) > (limit := service.settings.max_file):
        raise ApiError(413, f"the file has {len(file.data):,} bytes, more than the limit of {limit:,}")
    if PurePath(file.name).suffix.lower() not in SUFFIXES:
        raise bad(f"Invalid request: file format not supported; served: {' '.join(sorted(SUFFIXES))}")


def _check(service: Service, question: FileQuestion) -> None:
    """Raise ApiError for a file or languages that cannot be translated."""
    check_file(service, question.file)
    check_served(service.catalogue, question.source, question.target)
    if question.source != AUTO:
        check_pair(service.catalogue, question.source, question.target)
