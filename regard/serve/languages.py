"""Codes of languages, as clients spell them and as runs do, and their names in any language."""

from collections.abc import Iterator
from functools import lru_cache

from babel import Locale, UnknownLocaleError

AUTO = "auto"
ENGLISH = "en"
OUTWARD = {"zh": "zh-Hans", "zt": "zh-Hant", "pb": "pt-BR"}  # LibreTranslate's own codes, and what it says of them
INWARD = {code.lower(): own for own, code in OUTWARD.items()}
MAX_HEADER = 200  # characters of Accept-Language that are read


def inward(code: str) -> str:
    """As languages are compared: `zh-Hans`, `zh_hans` and `zh` → `zh`."""
    plain = code.lower().replace("_", "-")
    return INWARD.get(plain, plain)


def outward(code: str) -> str:
    """As clients are told: `zh` → `zh-Hans`."""
    return OUTWARD.get(code, code)


@lru_cache(maxsize=1024)
def name_of(code: str, reader: str = ENGLISH) -> str:
    """What a language is called in the language of the reader; a code that nobody knows is its own name."""
    try:
        name = Locale.parse(_babel(code)).get_display_name(Locale.parse(_babel(reader)))
    except (UnknownLocaleError, ValueError):
        name = None
    return f"{name[0].upper()}{name[1:]}" if name else code


def reading_language(accept_language: str) -> str:
    """The first language of an `Accept-Language` header in which languages have names; English if there is none."""
    ranked = sorted(_wanted(accept_language[:MAX_HEADER]), key=lambda wanted: -wanted[0])
    return next((tag for quality, tag in ranked if quality > 0 and _known(tag)), ENGLISH)


def _wanted(header: str) -> Iterator[tuple[float, str]]:
    """(quality, code) of each range."""
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
    """`zt` and `pb` are LibreTranslate's alone; `zh` says nothing of the script."""
    return (code if code == "zh" else outward(code)).replace("-", "_")
