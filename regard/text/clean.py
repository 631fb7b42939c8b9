"""The one normalisation that text goes through on its way in."""

import re
import unicodedata

VERSION = 1  # of `clean`: cached text made by another one is not used

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """NFC, and U+FFFD for lone surrogates; nothing else is changed or lost. Cleaning twice changes nothing more."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _SURROGATE.sub("\ufffd", text))
