"""POST /suggest: stores users' better translations line by line, for review."""

import json
from datetime import UTC, datetime
from pathlib import Path

from fastapi import Request

from regard.errors import ConfigError
from regard.serve.api.access import admitted
from regard.serve.api.checking import check_libretranslate_sizes, check_served
from regard.serve.api.libretranslate import SuggestQuestion
from regard.serve.errors import LATE, ApiError, later
from regard.serve.memories import confirm
from regard.serve.security import SUGGEST
from regard.serve.service import Service
from regard.serve.settings import MIB

MAX_FILE = 64 * MIB  # anyone may write here


async def keep_suggestion(service: Service, request: Request) -> dict[str, bool]:
    """Store a better translation."""
    values = await admitted(service, request, right=SUGGEST)
    place = service.settings.suggestions
    if place is None and not service.memories.pairs:
        raise ApiError(403, "Suggestions are disabled on this server.")
    question = SuggestQuestion.of(values)
    pair = question.source, question.target
    if place is None and service.memories.of(*pair) is None:
        raise ApiError(403, "Suggestions of these languages are disabled on this server.")
    suggestion = _suggestion(service, question)
    if place is not None:
        keep(place, suggestion)
    stored = await confirm(service.memories, pair, question.q, question.s, request.state.asked.key)
    if place is None and not stored:
        raise later(503, "the translation memory cannot be written now", LATE)
    return {"success": True}


def check_place(place: Path) -> None:
    """Create the file if it does not exist. Raises ConfigError if it cannot be written."""
    try:
        place.open("ab").close()
    except OSError as error:
        problem = f"'{place}' cannot be written: {(error.strerror or str(error)).lower()}"
        raise ConfigError("--suggestions", problem, "a file in an existing folder") from error


def keep(place: Path, suggestion: dict[str, str]) -> None:
    """Append a line of JSON. Raises ApiError when the file is full, OSError when it cannot be written."""
    line = json.dumps(suggestion, ensure_ascii=False).encode() + b"\n"
    if place.exists() and place.stat().st_size + len(line) > MAX_FILE:
        raise ApiError(403, "Suggestions are disabled on this server.")
    with place.open("ab") as file:
        file.write(line)  # in one write


def _suggestion(service: Service, question: SuggestQuestion) -> dict[str, str]:
    check_libretranslate_sizes([question.q, question.s], service.settings)
    check_served(service.catalogue, question.source, question.target)
    texts = question.model_dump(include={"q", "s", "source", "target"})
    return {"time": datetime.now(UTC).isoformat(timespec="seconds"), **texts}
