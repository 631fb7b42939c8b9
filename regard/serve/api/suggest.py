"""POST /suggest: better translations that users send in, kept line by line for a person to read."""

import json
from datetime import UTC, datetime
from pathlib import Path

from fastapi import Request

from regard.errors import ConfigError
from regard.serve.api.access import admitted
from regard.serve.api.checking import check_libretranslate_sizes, check_served
from regard.serve.api.libretranslate import SuggestQuestion
from regard.serve.errors import ApiError
from regard.serve.service import Service
from regard.serve.settings import MIB

MAX_FILE = 64 * MIB  # strangers write here


async def keep_suggestion(service: Service, request: Request) -> dict[str, bool]:
    """Send in a better translation."""
    values = await admitted(service, request)
    place = service.settings.suggestions
    if place is None:
        raise ApiError(403, "Suggestions are disabled on this server.")
    keep(place, _suggestion(service, SuggestQuestion.of(values)))
    return {"success": True}


def check_place(place: Path) -> None:
    """Makes the file if there is none. Raises ConfigError where it cannot be written."""
    try:
        place.open("ab").close()
    except OSError as error:
        problem = f"'{place}' cannot be written: {(error.strerror or str(error)).lower()}"
        raise ConfigError("--suggestions", problem, "a file in a folder that there is") from error


def keep(place: Path, suggestion: dict[str, str]) -> None:
    """One more line of JSON. Raises ApiError when the file has grown too large, OSError when it cannot be written."""
    line = json.dumps(suggestion, ensure_ascii=False).encode() + b"\n"
    if place.exists() and place.stat().st_size + len(line) > MAX_FILE:
        raise ApiError(403, "Suggestions are disabled on this server.")
    with place.open("ab") as file:
        file.write(line)  # in one piece


def _suggestion(service: Service, question: SuggestQuestion) -> dict[str, str]:
    check_libretranslate_sizes([question.q, question.s], service.settings)
    check_served(service.catalogue, question.source, question.target)
    texts = question.model_dump(include={"q", "s", "source", "target"})
    return {"time": datetime.now(UTC).isoformat(timespec="seconds"), **texts}
