"""Text of a page, character by character beside its source."""

import re
from html import unescape

_REFERENCE = re.compile(r"&(?:#[0-9]{1,20}+;?|#[xX][0-9a-fA-F]{1,20}+;?|[A-Za-z][A-Za-z0-9]{1,40}+;?)")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def read(source: str) -> list[tuple[str, str]]:
    """(character, how it was written); one reference may spell two characters, the second is written as nothing."""
    found: list[tuple[str, str]] = []
    plain = {character: (character, character) for character in set(source)}  # one for all that are alike
    cursor = 0
    for match in _REFERENCE.finditer(source):
        spelt = unescape(match[0])
        if spelt == match[0]:
            continue
        found += [plain[character] for character in source[cursor : match.start()]]
        found += ((character, "" if place else match[0]) for place, character in enumerate(spelt))
        if not spelt:
            found.append(("\0", match[0]))
        cursor = match.end()
    found += [plain[character] for character in source[cursor:]]
    return found


def escaped(text: str) -> str:
    """Text that can never be markup."""
    return text.translate(_ESCAPES)
