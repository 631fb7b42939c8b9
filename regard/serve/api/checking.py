"""Checks of a request, in LibreTranslate's order and with its messages."""

from collections.abc import Sequence

from regard.serve.catalogue import Catalogue
from regard.serve.errors import ApiError, bad, too_long
from regard.serve.languages import AUTO
from regard.serve.settings import NO_LIMIT, Settings

MAX_QUOTED = 40  # characters of a client's input that an error message quotes


def asked_texts(q: str | list[str]) -> list[str]:
    """Return `q` as a list. Raises ApiError for an empty one."""
    if not q:
        raise missing("q")
    return q if isinstance(q, list) else [q]


def missing(name: str) -> ApiError:
    """Return the error of a missing field."""
    return bad(f"Invalid request: missing {name} parameter")


def check_sizes(texts: Sequence[str], settings: Settings) -> None:
    """Raise ApiError for too many or too long texts; the message names the limit."""
    if NO_LIMIT != settings.batch_limit < len(texts):
        raise bad(
            f"Invalid request: {len(texts)} texts are more than this server takes at once: {settings.batch_limit}"
        )
    for number, text in enumerate(texts, start=1):
        if NO_LIMIT != settings.char_limit < len(text):
            problem = f"text {number} has {len(text)} characters, more than this server takes"
            raise bad(f"Invalid request: {problem}: {settings.char_limit}")


def check_libretranslate_sizes(texts: Sequence[str], settings: Settings) -> None:
    """Raise ApiError for too many or too long texts with LibreTranslate's message, which is the same for both."""
    if NO_LIMIT != settings.batch_limit < len(texts):
        raise too_long(len(texts), settings.batch_limit)
    for text in texts:
        if NO_LIMIT != settings.char_limit < len(text):
            raise too_long(len(text), settings.char_limit)


def check_translators(catalogue: Catalogue) -> None:
    """Raise ApiError for a server without translators."""
    if not catalogue.languages:
        raise bad("no model of this server translates; use POST /v1/predict")


def check_served(catalogue: Catalogue, source: str, target: str) -> None:
    """Raise ApiError for a language that is not served; the source may be auto."""
    check_translators(catalogue)
    known = catalogue.languages
    for code, allowed in ((source, {*known, AUTO}), (target, set(known))):
        if code not in allowed:
            raise bad(f"{code[:MAX_QUOTED]} is not supported")
