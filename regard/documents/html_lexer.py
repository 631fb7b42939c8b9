"""Splits HTML into tags, text and the rest as the standard's tokenizer does. Joined, the tokens are the input.

https://html.spec.whatwg.org/multipage/parsing.html#tokenization
"""

import re
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

RAW = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"})  # contain no tags
_FOREIGN = frozenset({"svg", "math"})

_TAG = re.compile(
    r"""</?[a-zA-Z][^\t\n\f\r />]*+
        (?: [\t\n\f\r /]++
          | [^\t\n\f\r />][^\t\n\f\r />=]*+
            (?: [\t\n\f\r ]*+ = [\t\n\f\r ]*+ (?: "[^"]*+" | '[^']*+' | (?!["'])[^\t\n\f\r >]*+ )
              | (?! [\t\n\f\r ]*+ = ) )
        )*+ >""",
    re.VERBOSE,
)
_NAME = re.compile(r"[a-zA-Z][^\t\n\f\r />]*")
_COMMENT_END = re.compile(r"--!?>")
_SCRIPT = re.compile(r"<!--|-->|<(/?)script(?=[\t\n\f\r />])", re.IGNORECASE)


class Token(NamedTuple):
    """A span of the source. `raw` is neither tag nor text: comments, doctypes, scripts, broken ends."""

    kind: Literal["text", "open", "close", "raw"]
    source: str
    name: str = ""  # tag name in lower case


def tokens(html: str, raw: Collection[str] = (*RAW, "plaintext")) -> Iterator[Token]:
    """Yield all tokens. The content of a `raw` element is raw, except the text of a title."""
    place, foreign = 0, 0
    while place < len(html):
        start = html.find("<", place)
        if start < 0 or not _begins_markup(html, start):
            end = _text_end(html, place)
            yield Token("text", html[place:end])
            place = end
            continue
        if start > place:
            yield Token("text", html[place:start])
        token = _markup(html, start, foreign > 0)
        place = start + len(token.source)
        yield token
        if token.name in _FOREIGN and not token.source.endswith("/>"):
            foreign += 1 if token.kind == "open" else -1 if foreign else 0
        if token.kind == "open" and not foreign and token.name in raw:
            end = _raw_end(html, place, token.name)
            if end > place:
                yield Token("text" if token.name == "title" else "raw", html[place:end])
            place = end


def _text_end(html: str, place: int) -> int:
    """Return the position of the next `<` that starts markup, or the end."""
    start = html.find("<", place)
    while start >= 0 and not _begins_markup(html, start):
        start = html.find("<", start + 1)
    return start if start >= 0 else len(html)


def _begins_markup(html: str, start: int) -> bool:
    following = html[start + 1 : start + 2]
    if following == "/":
        return start + 2 < len(html)
    return following in {"!", "?"} or (following.isascii() and following.isalpha())


def _markup(html: str, start: int, foreign: bool) -> Token:
    name = _NAME.match(html, start + (2 if html.startswith("/", start + 1) else 1))
    if name:
        tag = _TAG.match(html, start)
        if tag is None:  # an unclosed tag takes all of the rest
            return Token("raw", html[start:])
        return Token("close" if html[start + 1] == "/" else "open", tag[0], _lower(name[0]))
    return Token("raw", html[start : _other_end(html, start, foreign)])


def _lower(name: str) -> str:
    return "".join(character.lower() if character.isascii() else character for character in name)


def _other_end(html: str, start: int, foreign: bool) -> int:
    """Return the end of a comment, a doctype, or what the standard treats as a comment."""
    if html.startswith("<!--", start):
        if html.startswith((">", "->"), start + 4):
            return html.index(">", start) + 1
        found = _COMMENT_END.search(html, start + 4)
        return found.end() if found else len(html)
    if foreign and html.startswith("<![CDATA[", start):
        end = html.find("]]>", start)
        return end + 3 if end >= 0 else len(html)
    end = html.find(">", start)
    return end + 1 if end >= 0 else len(html)


def _raw_end(html: str, place: int, name: str) -> int:
    """Return the start of the closing tag of an element that contains no tags."""
    if name == "plaintext":
        return len(html)
    if name == "script":
        return _script_end(html, place)
    found = re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE).search(html, place)
    return found.start() if found else len(html)


def _script_end(html: str, place: int) -> int:
    """Return the end of a script; after `<!--` it may contain a whole script element."""
    commented = nested = False
    for found in _SCRIPT.finditer(html, place):
        if found[0] == "<!--":
            commented = True
        elif found[0] == "-->":
            commented = nested = False
        elif not found[1]:
            nested = commented
        elif not nested:
            return found.start()
        else:
            nested = False
    return len(html)
