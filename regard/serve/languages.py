"""Language codes, of clients and of runs, and names of languages in any language."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from babel import Locale, UnknownLocaleError

AUTO = "auto"
ENGLISH = "en"
OUTWARD = {"zh": "zh-Hans", "zt": "zh-Hant", "pb": "pt-BR"}  # codes of LibreTranslate alone, in its longer form
INWARD = {code.lower(): own for own, code in OUTWARD.items()}
MAX_HEADER = 200  # characters of Accept-Language that are read


def inward(code: str) -> str:
    """Return the code in normal form: `zh-Hans`, `zh_hans` and `zh` → `zh`."""
    plain = code.lower().replace("_", "-")
    return INWARD.get(plain, plain)


def outward(code: str) -> str:
    """Return the code for clients: `zh` → `zh-Hans`."""
    return OUTWARD.get(code, code)


def served_code(code: str, served: Sequence[str]) -> str:
    """Return the served language that a client's code means; if there is none, the code in normal form.

    Codes may name a region (`EN-GB` → `en`) or have three letters (`deu` → `de`); a script must fit (`zh-TW` → `zt`).
    """
    plain = inward(code)
    if plain in served or not (wanted := _parts(outward(plain))):
        return plain
    return next((one for one in served if _fits(wanted, _parts(outward(one)))), plain)


@lru_cache(maxsize=1024)
def _parts(code: str) -> tuple[str, str | None] | None:
    """Return language and script, as far as they are named; None for an unknown code."""
    try:
        found = Locale.parse(_babel(code))
    except (UnknownLocaleError, ValueError, TypeError):
        return None
    return found.language, found.script


def _fits(wanted: tuple[str, str | None], served: tuple[str, str | None] | None) -> bool:
    return served is not None and wanted[0] == served[0] and (None in (wanted[1], served[1]) or wanted[1] == served[1])


@lru_cache(maxsize=1024)
def name_of(code: str, reader: str = ENGLISH) -> str:
    """Return the name of a language in the reader's language; for an unknown code the code."""
    try:
        name = Locale.parse(_babel(code)).get_display_name(Locale.parse(_babel(reader)))
    except (UnknownLocaleError, ValueError):
        name = None
    return f"{name[0].upper()}{name[1:]}" if name else code


def reading_language(accept_language: str) -> str:
    """Return the first language of an `Accept-Language` header with names of languages; else English."""
    ranked = sorted(_wanted(accept_language[:MAX_HEADER]), key=lambda wanted: -wanted[0])
    return next((tag for quality, tag in ranked if quality > 0 and _known(tag)), ENGLISH)


def _wanted(header: str) -> Iterator[tuple[float, str]]:
    """Return (quality, code) of each range."""
    for part in header.split(","):
        tag, _, parameter = part.strip().partition(";")
        key, _, value = parameter.strip().partition("=")
        try:
            yield (float(value) if key.strip() == "q" else 1.0), tag.strip()
        except ValueError:
            continue


@lru_cache(maxsize=1024)
def _known(tag: str) -> bool:
    try:
        return bool(Locale.parse(_babel(tag)))
    except (UnknownLocaleError, ValueError, TypeError):
        return False


def _babel(code: str) -> str:
    """Return the code in the form of BCP 47: `zt` and `pb` are LibreTranslate's alone; `zh` names no script."""
    return (code if code == "zh" else outward(code)).replace("-", "_")
