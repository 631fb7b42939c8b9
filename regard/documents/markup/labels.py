"""Which language a page says that it is in."""

import re

from regard.documents.markup.lexer import tokens

_LANG = re.compile(
    r"""((?<=[\s/"'])(?:xml:)?lang\s*+=\s*+["']?)([A-Za-z]{2,3})((?:-[A-Za-z0-9-]{1,30}+)?+)""", re.IGNORECASE
)
_BEFORE = frozenset({"text", "raw"})  # a doctype, comments, space


def relabelled(html: str, source: str, target: str) -> str:
    """`<html lang="en-US">` → `<html lang="de">`, where it names the source; all else stays."""
    place = 0
    for token in tokens(html):
        if token.kind not in _BEFORE or (token.kind == "text" and token.source.strip("\ufeff \t\n\f\r")):
            break
        place += len(token.source)
    else:
        return html
    if (token.kind, token.name) != ("open", "html"):
        return html
    return (
        html[:place]
        + _LANG.sub(lambda found: _label(found, source, target), token.source)
        + html[place + len(token.source) :]
    )


def _label(found: re.Match[str], source: str, target: str) -> str:
    return f"{found[1]}{target}" if found[2].lower() == source.lower().partition("-")[0] else found[0]
