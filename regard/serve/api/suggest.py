"""POST /suggest and /v1/corrections: store better translations line by line; GET /v1/corrections/file returns them."""

import asyncio
import fcntl
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from fastapi import Request
from fastapi.responses import Response

from regard.errors import ConfigError
from regard.serve.api import models
from regard.serve.api.access import admitted
from regard.serve.api.answers import model_of_name
from regard.serve.api.checking import check_libretranslate_sizes, check_served, check_sizes
from regard.serve.api.libretranslate import SuggestQuestion
from regard.serve.api.request_body import read_values
from regard.serve.errors import LATE, ApiError, bad, later
from regard.serve.in_thread import LARGE, in_thread
from regard.serve.languages import AUTO, inward
from regard.serve.memories import confirm
from regard.serve.security import ADMIN, SUGGEST
from regard.serve.service import Service
from regard.serve.settings import MIB

MAX_FILE = 64 * MIB  # anyone may write here


class KeptCorrection(NamedTuple):
    """A text, a better translation, and the codes of their languages in normal form."""

    q: str
    s: str
    source: str
    target: str
    details: Mapping[str, str] = {}  # further fields of its line


async def keep_suggestion(service: Service, request: Request) -> models.CorrectionAnswer:
    """Store a better translation."""
    values = await admitted(service, request, right=SUGGEST)
    _check_enabled(service)
    question = SuggestQuestion.of(values)
    return await _store(service, request, KeptCorrection(question.q, question.s, question.source, question.target))


async def keep_correction(service: Service, request: Request) -> models.CorrectionAnswer:
    """Store a better translation with the answer that it corrects, its author, and the model that answered."""
    values = await admitted(service, request, read_values, right=SUGGEST)
    _check_enabled(service)
    question = models.CorrectionQuestion.of(values)
    if inward(question.source) == AUTO:
        raise bad("Invalid request: source: name the language of the text")
    named = {"answer": question.answer, "model": question.model, "version": question.version}
    details = {name: text for name, text in {**named, "author": question.author.strip()}.items() if text}
    if question.model:
        details.setdefault("version", model_of_name(service, question.model).version)
    texts = question.source_text, question.target_text
    pair = inward(question.source), inward(question.target)
    return await _store(service, request, KeptCorrection(*texts, *pair, details))


async def all_corrections(service: Service, request: Request) -> Response:
    """Return the file of stored corrections as JSON lines, for an administrator."""
    await admitted(service, request, right=ADMIN)
    place = service.settings.suggestions
    if place is None:
        raise ApiError(403, "Suggestions are disabled on this server.")
    return Response(await asyncio.to_thread(_lines, place), media_type="application/jsonl")


def _lines(place: Path) -> bytes:
    """Return the file as no process writes to it; a file that was moved away is an empty one."""
    try:
        with place.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return file.read()
    except FileNotFoundError:
        return b""


def _check_enabled(service: Service) -> None:
    if service.settings.suggestions is None and not (service.memories.pairs and service.memories.writable):
        raise ApiError(403, "Suggestions are disabled on this server.")


async def _store(service: Service, request: Request, given: KeptCorrection) -> models.CorrectionAnswer:
    """Append a correction to the file and add it to the memory of its languages, where there are such.

    Raises ApiError for texts over a limit, for languages that are not served or have neither, and for a full file.
    """
    place, pair = service.settings.suggestions, (given.source, given.target)
    memory = service.memories.to_add(*pair)
    if place is None and memory is None:
        raise ApiError(403, "Suggestions of these languages are disabled on this server.")
    check_libretranslate_sizes([given.q, given.s], service.settings)
    check_sizes([given.details.get("answer", "")], service.settings)
    check_served(service.catalogue, *pair)
    key = request.state.asked.key
    if place is not None:
        texts = {name: text for name, text in given._asdict().items() if name != "details"}
        time = datetime.now(UTC).isoformat(timespec="seconds")
        line = {"time": time, **texts, **given.details, **({"key": key} if key else {})}
        await in_thread(LARGE, keep, place, line)
    author = given.details.get("author", "")
    named = f"{author} ({key})" if author and key else author or key  # anyone may type any author
    stored = await confirm(service.memories, pair, given.q, given.s, named)
    if memory is None or stored or not given.q.strip() or not given.s.strip():
        return models.CorrectionAnswer(success=True)
    problem = "the translation memory cannot be written now"
    if place is None:
        raise later(503, problem, LATE)
    return models.CorrectionAnswer(success=True, warnings=[f"{problem}: the suggestion is in the file alone"])


def check_place(place: Path) -> None:
    """Create the file if it does not exist. Raises ConfigError if it cannot be written."""
    try:
        place.open("ab").close()
    except OSError as error:
        problem = f"'{place}' cannot be written: {(error.strerror or str(error)).lower()}"
        raise ConfigError("--suggestions", problem, "a file in an existing folder") from error


def keep(place: Path, correction: Mapping[str, str]) -> None:
    """Append a line of JSON, which is on the disk when this returns; several processes may write.

    What a killed process has left of a line stays a line of its own. Raises ApiError when the file is full, OSError
    when it cannot be written.
    """
    line = json.dumps(correction, ensure_ascii=False).encode() + b"\n"
    with place.open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = file.seek(0, os.SEEK_END)
        if size + len(line) > MAX_FILE:
            raise ApiError(403, "Suggestions are disabled on this server.")
        file.seek(max(size - 1, 0))
        file.write(line if file.read(1) in (b"", b"\n") else b"\n" + line)
        file.flush()
        os.fsync(file.fileno())
