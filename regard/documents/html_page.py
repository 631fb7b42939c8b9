"""Reads an HTML page or a fragment of XML as a Document: its sentences, and the attributes that people read."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from html import escape, unescape
from typing import NamedTuple

from regard.documents.document import Document, Insets
from regard.documents.html_lexer import Token, tokens
from regard.documents.marked_text import MarkedText
from regard.documents.plain_text import plain_document
from regard.documents.rendering import Style
from regard.documents.segments import Segment
from regard.documents.sentences import LIMIT
from regard.documents.size_budget import SizeBudget


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BREAKS = _names(
    """address article aside blockquote body br button caption center col colgroup datalist dd details dialog dir div dl
    dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe legend
    li link main menu meta nav noembed noframes noscript ol optgroup option output p param plaintext pre script search
    section select slot style summary table tbody td template textarea tfoot th thead title tr track ul xmp"""
)  # block elements end a sentence; all others may be inside one
_VOID = _names("area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr")
_UNTOUCHED = _names("applet audio canvas code kbd math object pre samp script style svg textarea var video xmp") | {
    "picture"
}  # with their content

_REFERENCE = re.compile(r"&(?:#[0-9]{1,20}+;?|#[xX][0-9a-fA-F]{1,20}+;?|[A-Za-z][A-Za-z0-9]{1,40}+;?)")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})  # so that a text is never markup
_LANG = re.compile(
    r"""((?<=[\s/"'])(?:xml:)?lang\s*+=\s*+["']?)([A-Za-z]{2,3})((?:-[A-Za-z0-9-]{1,30}+)?+)""", re.IGNORECASE
)
_BEFORE = frozenset({"text", "raw"})  # doctype, comments, white space
_READ = _names(  # attributes that people read
    """abbr alt aria-description aria-label aria-placeholder aria-roledescription aria-valuetext label placeholder
    summary title"""
)
_UNTRANSLATED_TITLES = frozenset({"link", "script", "style"})  # elements whose title is of a style sheet, or nothing
_CONTENTS = _names(  # of <meta>, by its name or property
    """application-name apple-mobile-web-app-title description keywords og:description og:image:alt og:site_name
    og:title twitter:description twitter:image:alt twitter:title"""
)
_BUTTONS = frozenset({"button", "reset", "submit"})  # kinds of <input> that show their value

_ATTRIBUTE = re.compile(
    r"""[\t\n\f\r /]++ ([^\t\n\f\r />=]++)
        (?: [\t\n\f\r ]*+ = [\t\n\f\r ]*+
            (?: "([^"]*+)" | '([^']*+)' | ([^\t\n\f\r >"'][^\t\n\f\r >]*+) ) )?+""",
    re.VERBOSE,
)
_UNQUOTED = 4  # the group of _ATTRIBUTE for a value without quotes


def _forbids_translation(tag: str) -> bool:
    """Return whether an opening tag says that nothing of its element is translated."""
    if "translate" not in tag.lower():
        return False
    given = _given(tag)
    return given.get("translate") == "no" or "notranslate" in given.get("class", "").split()


class _AttributeTexts:
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
    if token.kind != "open" or "=" not in token.source or _forbids_translation(token.source):
        return
    given = _given(token.source) if token.name in ("meta", "input") else {}
    content = {given.get("name", ""), given.get("property", "")} & _CONTENTS
    for match in _ATTRIBUTE.finditer(token.source):
        name = match[1].lower()
        if (
            (name in _READ and token.name not in _UNTRANSLATED_TITLES)
            or (name == "content" and token.name == "meta" and content)
            or (name == "value" and token.name == "input" and given.get("type") in _BUTTONS)
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
                quoted = escape(text) if match.lastindex != _UNQUOTED else f'"{escape(text)}"'
                parts += [token.source[cursor:start], quoted]
                cursor = end
        parts.append(token.source[cursor:])
    return "".join(parts)


def _given(tag: str) -> dict[str, str]:
    """Return the attributes of a tag in lower case; of equal names the first counts, as in browsers."""
    found = dict[str, str]()
    for match in _ATTRIBUTE.finditer(tag):
        found.setdefault(match[1].lower(), _value(match).strip().lower())
    return found


def _value(match: re.Match[str]) -> str:
    return match[2] or match[3] or match[4] or ""


class _Markup(NamedTuple):
    """Elements that are more than marks within a sentence, by name. In XML a tag is void by its own sign."""

    xml: bool
    breaks: frozenset[str] = frozenset()
    void: frozenset[str] = frozenset()
    untouched: frozenset[str] = frozenset()

    def is_void(self, token: Token) -> bool:
        """Return whether a tag has no content."""
        return token.source.endswith("/>") if self.xml else token.name in self.void


_HTML, _XML = _Markup(False, _BREAKS, _VOID, _UNTOUCHED), _Markup(True)


def html_document(
    html: str,
    *,
    language: str | None = None,
    limit: int = LIMIT,
    budget: SizeBudget | None = None,
    untouched: Collection[str] = (),
) -> Document:
    """Return HTML as a Document; malformed parts are kept. Raises TooLarge if the budget is exceeded.

    `untouched`: names of more elements that are kept with their content.
    """
    reader = _BlockReader(language, limit, budget or SizeBudget(), _untouched(_HTML, untouched))
    for token in tokens(html):
        reader.take(token)
    return reader.document(_relabelled)


def xml_document(
    text: str, *, language: str | None = None, limit: int = LIMIT, untouched: Collection[str] = ()
) -> Document:
    """Return a fragment of XML as a Document: tags are marks within a sentence, which ends with its line.

    `untouched`: names of elements that are kept with their content.
    """
    reader = _BlockReader(language, limit, SizeBudget(), _untouched(_XML, untouched))
    for token in tokens(text, raw=()):
        reader.take(token)
    return reader.document(None)


def _untouched(markup: _Markup, names: Collection[str]) -> _Markup:
    return markup._replace(untouched=markup.untouched | {name.lower() for name in names})


class _BlockReader:
    """Collects the text of a block until the next one starts."""

    def __init__(self, language: str | None, limit: int, budget: SizeBudget, markup: _Markup) -> None:
        self.language, self.limit, self.budget, self.markup = language, limit, budget, markup
        self.segments: list[Segment] = []
        self.kept: list[str] = []  # untranslated source after the last segment
        self.sources: list[str] = []  # of marks, by number
        self.skipped: list[Token] = []  # the untouched element that is being read
        self.depth = 0
        self.attributes = _AttributeTexts(language, limit, self.budget)
        self.block = MarkedText(self.sources)

    def take(self, token: Token) -> None:
        """Read the next token of the page."""
        self.budget.count_mark()
        if not self.skipped and not self.markup.xml:
            self.attributes.read(token)
        if self.skipped:
            self._skip(token)
        elif token.kind == "text":
            self.block.add(_characters(token.source))
        elif token.kind == "raw":
            self.block.mark("point", "", token.source)
        elif (
            token.kind == "open"
            and not self.markup.is_void(token)
            and (token.name in self.markup.untouched or _forbids_translation(token.source))
        ):
            self.skipped, self.depth = [token], 1
        elif token.name in self.markup.breaks:
            self._end_block()
            self.kept.append(token.source)
        elif self.markup.is_void(token):
            self.block.mark("point", "", token.source)
        else:
            self.block.mark("open" if token.kind == "open" else "close", token.name, token.source)

    def document(self, relabel: Callable[[str, str, str], str] | None) -> Document:
        """End the page and all open elements; return the Document."""
        if self.skipped:
            self._end_skipping()
        self._end_block()
        style = Style(lambda text: text.translate(_ESCAPES), self.sources.__getitem__)
        return Document(self.segments, "".join(self.kept), style, relabel, self.attributes.insets())

    def _skip(self, token: Token) -> None:
        name = self.skipped[0].name
        if token.name == name == "p" and token.kind == "open":  # a paragraph ends where the next one starts
            self._end_skipping()
            self.take(token)
            return
        self.skipped.append(token)
        if token.name == name:
            self.depth += 1 if token.kind == "open" else -1
            if not self.depth:
                self._end_skipping()

    def _end_skipping(self) -> None:
        skipped, self.skipped = self.skipped, []
        source = "".join(token.source for token in skipped)
        if skipped[0].name in self.markup.breaks:
            self._end_block()
            self.kept.append(source)
            return
        self.block.mark("point", "", source)

    def _end_block(self) -> None:
        found = self.block.split(language=self.language, limit=self.limit, budget=self.budget, lines=self.markup.xml)
        for before, passage in found.segments:
            self.segments.append(Segment("".join([*self.kept, before]), passage))
            self.kept = []
        self.kept.append(found.rest)
        self.block = MarkedText(self.sources)


def _characters(source: str) -> list[tuple[str, str]]:
    """Return (character, source) pairs; if a reference stands for two characters, the second has no source."""
    found: list[tuple[str, str]] = []
    plain = {character: (character, character) for character in set(source)}  # one tuple per distinct character
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


def _relabelled(html: str, source: str, target: str) -> str:
    """Change `<html lang="en-US">` to `<html lang="de">` if it names the source language."""
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
