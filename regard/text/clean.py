"""The one normalisation that text goes through on its way in."""

import re
import unicodedata

VERSION = 1  # of `clean`: cached text made by another one is not used

_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """Return a text with U+FFFD for lone surrogates, which no file can hold: JSON spells them, as in "\\ud800"."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def clean(text: str) -> str:
    """NFC, and U+FFFD for lone surrogates; nothing else is changed or lost. Cleaning twice changes nothing more."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", without_surrogates(text))
