"""Attributes of HTML that people read: alternative texts, titles, placeholders, labels, descriptions of the page."""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape, unescape

from regard.documents.document import Document, Insets
from regard.documents.html_lexer import Token, tokens
from regard.documents.plain_text import plain_document
from regard.documents.size_budget import SizeBudget

_READ = frozenset(
    """abbr alt aria-description aria-label aria-placeholder aria-roledescription aria-valuetext label placeholder
    summary title""".split()  # noqa: SIM905  one a line would be a page
)
_NAMES = frozenset({"link", "script", "style"})  # elements whose title is the name of a style sheet, or nothing
CONTENTS = frozenset(  # of <meta>, by its name or property
    """application-name apple-mobile-web-app-title description keywords og:description og:image:alt og:site_name
    og:title twitter:description twitter:image:alt twitter:title""".split()  # noqa: SIM905  one a line would be a page
)
BUTTONS = frozenset({"button", "reset", "submit"})  # kinds of <input> that show their value

ATTRIBUTE = re.compile(
    r"""[\t\n\f\r /]++ ([^\t\n\f\r />=]++)
        (?: [\t\n\f\r ]*+ = [\t\n\f\r ]*+
            (?: "([^"]*+)" | '([^']*+)' | ([^\t\n\f\r >"'][^\t\n\f\r >]*+) ) )?+""",
    re.VERBOSE,
)


def forbids_translation(tag: str) -> bool:
    """Return whether an opening tag says that nothing of its element is translated."""
    if "translate" not in tag.lower():
        return False
    given = _given(tag)
    return given.get("translate") == "no" or "notranslate" in given.get("class", "").split()


class AttributeTexts:
    """Collects the values of attributes that people read; equal ones are one text."""

    def __init__(self, language: str | None, limit: int, budget: SizeBudget) -> None:
        self.language, self.limit, self.budget = language, limit, budget
        self.documents = dict[str, Document]()  # by the value as it is written, without its quotes

    def read(self, token: Token) -> None:
        """Collect the values of an opening tag."""
        for match in _shown(token):
            value = _value(match)
            if value not in self.documents:
                text = unescape(value)
                one = plain_document(text, language=self.language, limit=self.limit, budget=self.budget)
                if one.segments:
                    self.documents[value] = one

    def insets(self) -> Insets:
        """Return them as insets of the page."""
        if not self.documents:
            return Insets()
        values = [*self.documents]

        def insert(html: str, texts: Sequence[str]) -> str:
            return _replaced(html, dict(zip(values, texts, strict=True)))

        return Insets(tuple(self.documents.values()), insert)


def _shown(token: Token) -> Iterator[re.Match[str]]:
    """Yield the attributes of a tag that people read; none where the tag forbids their translation."""
    if token.kind != "open" or "=" not in token.source or forbids_translation(token.source):
        return
    given = _given(token.source) if token.name in ("meta", "input") else {}
    content = {given.get("name", ""), given.get("property", "")} & CONTENTS
    for match in ATTRIBUTE.finditer(token.source):
        name = match[1].lower()
        if (
            (name in _READ and token.name not in _NAMES)
            or (name == "content" and token.name == "meta" and content)
            or (name == "value" and token.name == "input" and given.get("type") in BUTTONS)
        ):
            yield match


def _replaced(html: str, new: Mapping[str, str]) -> str:
    """Write other texts into the tags of a page; `new`: the value as it is written → its text."""
    parts = list[str]()
    for token in tokens(html):
        cursor = 0
        for match in _shown(token):
            if (text := new.get(_value(match))) is not None:
                start, end = match.span(match.lastindex or 0)
                quoted = escape(text) if match.lastindex != UNQUOTED else f'"{escape(text)}"'
                parts += [token.source[cursor:start], quoted]
                cursor = end
        parts.append(token.source[cursor:])
    return "".join(parts)


UNQUOTED = 4  # the group of ATTRIBUTE for a value without quotes


def _given(tag: str) -> dict[str, str]:
    """Return the attributes of a tag in lower case; of equal names the first counts, as in browsers."""
    found = dict[str, str]()
    for match in ATTRIBUTE.finditer(tag):
        found.setdefault(match[1].lower(), _value(match).strip().lower())
    return found


def _value(match: re.Match[str]) -> str:
    return match[2] or match[3] or match[4] or ""
