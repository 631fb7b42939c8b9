"""What a request asks for, checked in LibreTranslate's order and told in its words."""

import re
from collections.abc import Sequence
from typing import Any

from regard.serve.api.reading import Fields
from regard.serve.catalogue import Catalogue
from regard.serve.errors import bad, too_long
from regard.serve.languages import AUTO, inward
from regard.serve.settings import NO_LIMIT, Settings

MAX_TOLD = 40  # characters of what a client said that it is told again
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")


def asked_texts(value: Any) -> list[str]:
    """`q`, a text or a list of texts. Raises ApiError for one that is missing, empty or something else."""
    texts = value if isinstance(value, list) else [value]
    if not value or not all(isinstance(text, str) for text in texts):
        raise missing("q")
    return texts


def missing(name: str) -> Exception:
    """A field that is not there."""
    return bad(f"Invalid request: missing {name} parameter")


def asked_pair(fields: Fields) -> tuple[str, str]:
    """`source` and `target` as they are compared inside. Raises ApiError where one is missing."""
    for name in ("source", "target"):
        if not fields.text(name):
            raise missing(name)
    return inward(fields.text("source")), inward(fields.text("target"))


def asked_alternatives(value: Any, limit: int) -> int:
    """`alternatives`, 0 when there is none. Raises ApiError."""
    number = _whole_number(value)
    if number is None:
        raise bad("Invalid request: alternatives parameter is not a number")
    if limit != NO_LIMIT and number > limit:
        raise bad(f"Invalid request: alternatives parameter must be <= {limit}")
    return max(number, 0)


def check_sizes(texts: Sequence[str], settings: Settings) -> None:
    """Raises ApiError for more texts, or longer ones, than are taken."""
    if NO_LIMIT != settings.batch_limit < len(texts):
        raise too_long(len(texts), settings.batch_limit)
    for text in texts:
        if NO_LIMIT != settings.char_limit < len(text):
            raise too_long(len(text), settings.char_limit)


def check_languages(catalogue: Catalogue, source: str, target: str) -> None:
    """Raises ApiError for a language that is not served; the source may be left open."""
    known = catalogue.languages
    for code, allowed in ((source, {*known, AUTO}), (target, set(known))):
        if code not in allowed:
            raise bad(f"{code[:MAX_TOLD]} is not supported")


def _whole_number(value: Any) -> int | None:
    if value is None:
        return 0
    if isinstance(value, str):
        return int(value) if _NUMBER.fullmatch(value.strip()) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        return None
    return int(value)
