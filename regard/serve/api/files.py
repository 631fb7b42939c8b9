"""POST /translate_file and GET /download_file, as LibreTranslate answers them."""

from pathlib import PurePath

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from regard.documents import SUFFIXES, FileError, TooLarge
from regard.serve.api import documented
from regard.serve.api.access import admitted
from regard.serve.api.checking import asked_pair, check_languages, missing
from regard.serve.api.reading import Fields, File
from regard.serve.downloads import NAME
from regard.serve.engine import TooLate
from regard.serve.errors import ApiError, bad
from regard.serve.languages import AUTO, outward
from regard.serve.service import Service
from regard.serve.translating import check_pair, translate_file


def router(service: Service) -> APIRouter:
    """The two endpoints."""
    routes = APIRouter(tags=["LibreTranslate"])

    @routes.post("/translate_file", **documented.TRANSLATE_FILE)
    async def translate_whole_file(request: Request) -> dict[str, str]:
        """Translate a file; the answer says where the translation is."""
        fields = await admitted(service, request)
        if not service.settings.files_translation:
            raise ApiError(403, "Files translation are disabled on this server.")
        file, (source, target) = _checked(service, fields)
        request.state.pair = f"{source}-{target}"
        path = PurePath(file.name)
        try:
            data = await translate_file(service, file.data, path.suffix.lower(), source, target)
        except FileError as error:
            raise bad(f"Invalid request: {error}") from error
        except TooLarge as error:
            raise ApiError(413, str(error)) from error
        except TooLate as error:  # of all the time that a file has, so another time would not do either
            raise ApiError(413, "the file takes longer to translate than a file may: send it in parts") from error
        name = service.downloads.keep(f"{path.stem}_{outward(target)}{path.suffix}", data)
        return {"translatedFileUrl": str(request.url_for("download_file", name=name))}

    @routes.get("/download_file/{name}", **documented.DOWNLOAD)
    async def download_file(request: Request) -> Response:
        """A translated file; after half an hour it is gone."""
        if not service.settings.files_translation:
            raise ApiError(403, "Files translation are disabled on this server.")
        name = request.path_params["name"]
        if NAME.fullmatch(name) is None:
            raise bad("Invalid filename")
        path = service.downloads.find(name)
        if path is None:
            raise ApiError(404, "Not Found")
        return FileResponse(path, media_type="application/octet-stream", filename=name.partition(".")[2])

    return routes


def _checked(service: Service, fields: Fields) -> tuple[File, tuple[str, str]]:
    file = fields.files.get("file")
    if file is None:
        raise missing("file")
    source, target = asked_pair(fields)
    if not file.name or not file.data:
        raise bad("Invalid request: empty file")
    limit = service.settings.max_file
    if len(file.data) > limit:
        raise ApiError(413, f"the file has {len(file.data):,} bytes, more than the {limit:,} that are read")
    if PurePath(file.name).suffix.lower() not in SUFFIXES:
        raise bad("Invalid request: file format not supported")
    check_languages(service.catalogue, source, target)
    if source != AUTO:
        check_pair(service.catalogue, source, target)
    return file, (source, target)
