"""What a request asks for, checked in LibreTranslate's order and told in its words."""

from collections.abc import Sequence

from regard.serve.catalogue import Catalogue
from regard.serve.errors import ApiError, bad, too_long
from regard.serve.languages import AUTO
from regard.serve.settings import NO_LIMIT, Settings

MAX_TOLD = 40  # characters of what a client said that it is told again


def asked_texts(q: str | list[str]) -> list[str]:
    """`q` as a list. Raises ApiError for one that is empty."""
    if not q:
        raise missing("q")
    return q if isinstance(q, list) else [q]


def missing(name: str) -> ApiError:
    """A field that is not there."""
    return bad(f"Invalid request: missing {name} parameter")


def check_sizes(texts: Sequence[str], settings: Settings) -> None:
    """Raises ApiError for more texts, or longer ones, than are taken; it says which of both, and the limit."""
    if NO_LIMIT != settings.batch_limit < len(texts):
        raise bad(
            f"Invalid request: {len(texts)} texts are more than this server takes at once: {settings.batch_limit}"
        )
    for number, text in enumerate(texts, start=1):
        if NO_LIMIT != settings.char_limit < len(text):
            told = f"text {number} has {len(text)} characters, more than this server takes"
            raise bad(f"Invalid request: {told}: {settings.char_limit}")


def check_libretranslate_sizes(texts: Sequence[str], settings: Settings) -> None:
    """The same in LibreTranslate's words, which are the same of texts and of characters."""
    if NO_LIMIT != settings.batch_limit < len(texts):
        raise too_long(len(texts), settings.batch_limit)
    for text in texts:
        if NO_LIMIT != settings.char_limit < len(text):
            raise too_long(len(text), settings.char_limit)


def check_served(catalogue: Catalogue, source: str, target: str) -> None:
    """Raises ApiError for a language that is not served; the source may be left open."""
    known = catalogue.languages
    if not known:
        raise bad("no model here translates; POST /v1/predict asks those that there are")
    for code, allowed in ((source, {*known, AUTO}), (target, set(known))):
        if code not in allowed:
            raise bad(f"{code[:MAX_TOLD]} is not supported")
